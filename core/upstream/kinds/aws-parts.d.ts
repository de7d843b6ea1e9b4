/** The parts of AWS' optional packages that the kind `bedrock` uses: the build must not need what is not installed. */

declare module "@smithy/signature-v4" {
  interface Request {
    readonly method: string;
    /** `https:` */
    readonly protocol: string;
    readonly hostname: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | Uint8Array;
  }

  interface Hash {
    update(data: string | Uint8Array): void;
    digest(): Promise<Uint8Array>;
  }

  export class SignatureV4 {
    constructor(options: {
      readonly service: string;
      readonly region: string;
      readonly sha256: new (key?: string | NodeJS.ArrayBufferView) => Hash;
      readonly credentials: () => Promise<object>;
    });

    sign(
      request: Request,
      options: { readonly signingDate: Date },
    ): Promise<{ readonly headers: Readonly<Record<string, string>> }>;
  }
}

declare module "@aws-sdk/credential-provider-node" {
  export function defaultProvider(options: { readonly profile?: string }): () => Promise<object>;
}
