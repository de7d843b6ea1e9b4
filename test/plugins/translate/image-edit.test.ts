import t from "tap";
import { RequestBody } from "../../../core/body/request-body.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { imageEditForm } from "../../../plugins/translate/image-edit.ts";

const png = makePng(1, 1, 0);

/** Returns how many images an edit with so many files, and images in its fields, sends on; or its refusal. */
function edit(files: number, named: number) {
  const form = Array.from({ length: files }, () => ({
    ...{ name: "image[]", data: png, filename: "a.png" },
  }));
  const image = Array.from({ length: named }, () => png.toString("base64"));
  const body = RequestBody.of({ prompt: "a", ...(named > 0 && { image_url: image }) });
  const made = imageEditForm({ form, body } as never);
  return isRefusal(made) ? made.message : made.filter(({ name }) => name === "image[]").length;
}

t.test("an edit has at most 16 images, as files or in fields", async (t) => {
  t.equal(edit(16, 0), 16);
  t.equal(edit(0, 16), 16);
  t.equal(edit(10, 6), 16);
  t.equal(edit(17, 0), "image: at most 16 images");
  t.equal(edit(0, 17), "image_url: at most 16 images");
  t.equal(edit(10, 7), "image_url: at most 16 images");
});
