import { randomBytes } from "node:crypto";
import type { FormPart } from "../body/form.ts";
import type { OutgoingBody } from "../plugin/upstream-kind.ts";

/** A form on its way to an upstream. Its fields are read and set like those of a JSON body. */
export class FormBody implements OutgoingBody {
  private readonly boundary = `tollgate-${randomBytes(16).toString("hex")}`;
  private parts: readonly FormPart[];

  constructor(parts: readonly FormPart[]) {
    this.parts = parts;
  }

  get contentType(): string {
    return `multipart/form-data; boundary=${this.boundary}`;
  }

  read(name: string): unknown {
    return this.parts.find((part) => part.name === name)?.data.toString();
  }

  set(name: string, value: unknown): void {
    const others = this.parts.filter((part) => part.name !== name);
    const added = value === undefined ? [] : [{ name, data: Buffer.from(String(value)) }];
    this.parts = [...added, ...others];
  }

  bytes(): Buffer {
    const pieces: Buffer[] = [];
    for (const { name, filename, type, data } of this.parts) {
      let head = `--${this.boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`;
      if (filename !== undefined) head += `; filename="${quoted(filename)}"`;
      if (type !== undefined) head += `\r\ncontent-type: ${type.replace(/[\r\n]/g, "")}`;
      pieces.push(Buffer.from(`${head}\r\n\r\n`), data, Buffer.from("\r\n"));
    }
    pieces.push(Buffer.from(`--${this.boundary}--\r\n`));
    return Buffer.concat(pieces);
  }
}

/** Percent-encodes quotes and line breaks in names, as browsers do. */
function quoted(text: string): string {
  return text.replace(/"/g, "%22").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
}
