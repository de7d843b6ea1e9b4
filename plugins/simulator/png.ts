import { crc32, deflateSync } from "node:zlib";

/**
 * Makes a valid image of one colour, so that a page can show it. Uses one bit per pixel: 1024 ×
 * 1024 pixels are 131 KB before compression and about 200 bytes after it.
 */
export function makePng(width: number, height: number, colour: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1; // bits per pixel
  header[9] = 3; // palette colours
  const palette = Buffer.alloc(6);
  palette.writeUIntBE(colour & 0xffffff, 0, 3);
  const rows = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
