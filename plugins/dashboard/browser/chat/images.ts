import { toast } from "../../../page-parts/browser/announce.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { t } from "../text.ts";
import type { ChatImage } from "./stream.ts";

const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** Base64 adds a third, and a request may be at most 20 MB. */
const ALL_BYTES_MAX = 12 * 1024 * 1024;
const COUNT_MAX = 8;

/** The images of the next message: chosen, pasted or dropped. */
export class Attachments {
  readonly element: HTMLElement = el("ul", {
    class: "attachments",
    "aria-label": t("chat.images"),
  });
  readonly input: HTMLInputElement = el("input", {
    type: "file",
    accept: TYPES.join(","),
    multiple: true,
    hidden: true,
  });
  private images: (ChatImage & { readonly bytes: number })[] = [];

  constructor() {
    this.input.addEventListener("change", () => {
      void this.add(this.input.files ?? []);
    });
  }

  async add(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      const bytes = this.images.reduce((sum, image) => sum + image.bytes, file.size);
      if (!TYPES.includes(file.type)) toast(t("chat.image.type"));
      else if (bytes > ALL_BYTES_MAX || this.images.length >= COUNT_MAX)
        toast(t("chat.image.size"));
      else this.images.push({ name: file.name, dataUrl: await dataUrlOf(file), bytes: file.size });
    }
    this.input.value = "";
    this.show();
  }

  get attached(): ChatImage[] {
    return this.images.map(({ name, dataUrl }) => ({ name, dataUrl }));
  }

  clear(): void {
    this.images = [];
    this.show();
  }

  get isEmpty(): boolean {
    return this.images.length === 0;
  }

  private show(): void {
    fill(
      this.element,
      this.images.map((image, at) =>
        el(
          "li",
          {},
          el("img", { src: image.dataUrl, alt: image.name }),
          el(
            "button",
            {
              type: "button",
              class: "small",
              "aria-label": t("chat.image.remove", { name: image.name }),
              onclick: () => {
                this.images.splice(at, 1);
                this.show();
              },
            },
            icon("close"),
          ),
        ),
      ),
    );
  }
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
