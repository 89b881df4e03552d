import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import { testPanelOrigin } from "./api-world.ts";

type Options = { readonly challenge: string };

/** How an answer is not as it should be. */
export type Twist = {
  readonly origin?: string;
  readonly rpId?: string;
  readonly userVerified?: boolean;
  readonly counter?: number;
};

/** A passkey without a browser: an ES256 key that answers as a device of a person would. */
export class SoftPasskey {
  readonly id = randomBytes(20).toString("base64url");
  readonly #key: KeyObject;
  readonly #point: { readonly x: string; readonly y: string };
  #uses = 0;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#key = privateKey;
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    this.#point = { x, y };
  }

  register({ challenge }: Options, twist: Twist = {}) {
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const cose = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(this.#point.x)],
      [-3, bytes(this.#point.y)],
    ]);
    const attested = [Buffer.alloc(16), length, id, Buffer.from(isoCBOR.encode(cose))];
    const authData = Buffer.concat([this.#head(0x40, twist), ...attested]);
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", new Uint8Array(authData)],
    ]);
    const object = Buffer.from(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]));
    return this.#credential({
      clientDataJSON: clientData("webauthn.create", challenge, twist).toString("base64url"),
      attestationObject: object.toString("base64url"),
      transports: ["internal"],
    });
  }

  use({ challenge }: Options, twist: Twist = {}) {
    const authData = this.#head(0, twist);
    const data = clientData("webauthn.get", challenge, twist);
    const signed = Buffer.concat([authData, createHash("sha256").update(data).digest()]);
    return this.#credential({
      clientDataJSON: data.toString("base64url"),
      authenticatorData: authData.toString("base64url"),
      signature: createSign("sha256").update(signed).sign(this.#key).toString("base64url"),
    });
  }

  #head(more: number, twist: Twist): Buffer {
    this.#uses += 1;
    const rpId = twist.rpId ?? new URL(testPanelOrigin).hostname;
    const flags = 0x01 | (twist.userVerified === false ? 0 : 0x04) | more;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(twist.counter ?? this.#uses);
    return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.of(flags), counter]);
  }

  #credential(response: object) {
    return { id: this.id, rawId: this.id, type: "public-key", response, clientExtensionResults: {} };
  }
}

function clientData(type: string, challenge: string, twist: Twist): Buffer {
  const origin = twist.origin ?? testPanelOrigin;
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64url"));
