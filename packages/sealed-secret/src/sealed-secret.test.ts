import { describe, expect, it } from "vitest";
import { CannotOpen, makeSealingKeyPair, openSecret, publicKeyOf, sealSecret } from "./sealed-secret.ts";

const agent = makeSealingKeyPair();
const password = "Zürich-9 🔑";

describe("A sealed secret", () => {
  it("opens with the key and the context it was sealed for", () => {
    expect(openSecret(agent.privateKey, sealSecret(agent.publicKey, password, "srv_1"), "srv_1")).toBe(
      password,
    );
  });

  it("does not open for another server", () => {
    const sealed = sealSecret(agent.publicKey, password, "srv_1");
    expect(() => openSecret(agent.privateKey, sealed, "srv_2")).toThrow(CannotOpen);
  });

  it("does not open with another region's key", () => {
    const sealed = sealSecret(agent.publicKey, password, "srv_1");
    expect(() => openSecret(makeSealingKeyPair().privateKey, sealed, "srv_1")).toThrow(CannotOpen);
  });

  it("does not open when any byte of it was changed", () => {
    const sealed = Buffer.from(sealSecret(agent.publicKey, password, "srv_1"), "base64");
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      // The top bit of an X25519 key is not part of it; every other bit counts.
      expect(() => openSecret(agent.privateKey, changed.toString("base64"), "srv_1"), `byte ${at}`).toThrow(
        CannotOpen,
      );
    }
  });

  it("is different each time and contains nothing of the secret", () => {
    const [one, other] = [
      sealSecret(agent.publicKey, password, "srv_1"),
      sealSecret(agent.publicKey, password, "srv_1"),
    ];
    expect(one).not.toBe(other);
    expect(Buffer.from(one, "base64").includes(Buffer.from("rich-9"))).toBe(false);
  });

  it("refuses text that is not sealed at all, and a key that is no key", () => {
    expect(() => openSecret(agent.privateKey, "aGVsbG8=", "srv_1")).toThrow(CannotOpen);
    expect(() => sealSecret("c2hvcnQ=", password, "srv_1")).toThrow(TypeError);
    // A key that leads everybody to the same shared secret.
    expect(() => sealSecret(Buffer.alloc(32).toString("base64"), password, "srv_1")).toThrow();
  });
});

describe("A sealing key pair", () => {
  it("has a public key that follows from the private one", () => {
    expect(publicKeyOf(agent.privateKey)).toBe(agent.publicKey);
    expect(Buffer.from(agent.publicKey, "base64")).toHaveLength(32);
  });
});
