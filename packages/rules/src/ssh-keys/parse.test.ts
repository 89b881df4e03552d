import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSshPublicKey } from "./parse.ts";
import { publicKeys } from "./sample-keys.ts";
import { decodeBase64, readWireFields } from "./wire.ts";

const refusal = (text: string): string => {
  const parsed = parseSshPublicKey(text);
  if (parsed.ok) throw new Error("was accepted");
  return parsed.message;
};
const wire = (...fields: (string | number[])[]): string => {
  const bytes = fields.flatMap((field) => {
    const content = typeof field === "string" ? [...field].map((c) => c.charCodeAt(0)) : field;
    return [0, 0, content.length >> 8, content.length & 255, ...content];
  });
  return btoa(String.fromCharCode(...bytes));
};

describe("accepted keys", () => {
  test.each([
    ["ed25519", "ed25519", 256],
    ["ecdsa256", "ecdsa", 256],
    ["ecdsa384", "ecdsa", 384],
    ["ecdsa521", "ecdsa", 521],
    ["rsa2048", "rsa", 2048],
    ["rsa3072", "rsa", 3072],
  ] as const)("%s is of type %s with %i bits", (name, type, bits) => {
    expect(parseSshPublicKey(publicKeys[name])).toMatchObject({ ok: true, type, bits, comment: "" });
  });

  test("security keys are accepted", () => {
    const ed25519 = `sk-ssh-ed25519@openssh.com ${wire("sk-ssh-ed25519@openssh.com", Array(32).fill(7), "ssh:")}`;
    const ecdsa = `sk-ecdsa-sha2-nistp256@openssh.com ${wire("sk-ecdsa-sha2-nistp256@openssh.com", "nistp256", [4, ...Array(64).fill(9)], "ssh:")}`;
    expect(parseSshPublicKey(ed25519)).toMatchObject({ ok: true, type: "sk-ed25519", bits: 256 });
    expect(parseSshPublicKey(ecdsa)).toMatchObject({ ok: true, type: "sk-ecdsa", bits: 256 });
  });

  test("the comment is separate; blanks and line ends around the key do not matter", () => {
    const parsed = parseSshPublicKey(`  ${publicKeys.ed25519.replace(" ", " \t ")}   ada at her laptop \n`);
    expect(parsed).toMatchObject({
      ok: true,
      publicKey: publicKeys.ed25519,
      comment: "ada at her laptop",
      algorithm: "ssh-ed25519",
    });
  });
});

describe("refused keys say what was pasted", () => {
  test.each([
    ["", "is empty"],
    ["   \n", "is empty"],
    ["hello", "not a public key in the OpenSSH form"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----", "private key"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE", "private key"],
    ["PuTTY-User-Key-File-3: ssh-ed25519", "private key"],
    ["---- BEGIN SSH2 PUBLIC KEY ----\nAAAA", "convert it with ssh-keygen"],
    ["-----BEGIN PUBLIC KEY-----\nAAAA", "convert it with ssh-keygen"],
    [publicKeys.dsa, "DSA"],
    [publicKeys.rsa1024, "has 1024 bits; at least 2048"],
    [`${publicKeys.ed25519}\n${publicKeys.rsa2048}`, "several lines"],
    [`${publicKeys.ed25519} ${publicKeys.rsa2048}`, "several keys in one line"],
    [`${publicKeys.ed25519} ada@laptop ${publicKeys.ecdsa256} bob`, "several keys in one line"],
    [`command="ls -l" ${publicKeys.ed25519}`, "begins with options"],
    [`no-pty ${publicKeys.ed25519}`, "begins with options"],
    [`ssh-ed25519-cert-v01@openssh.com ${wire("ssh-ed25519-cert-v01@openssh.com")}`, "is a certificate"],
    [`ssh-ed448 ${wire("ssh-ed448", Array(57).fill(1))}`, "unknown type"],
    [`constructor ${wire("constructor")}`, "unknown type"],
    ["ssh-ed25519 AAAA*", "not valid base64"],
    [publicKeys.ed25519.slice(0, -5), "not valid base64"],
    [publicKeys.ed25519.slice(0, -8), "is damaged"],
    [publicKeys.ed25519.replace("ssh-ed25519", "ssh-rsa"), "holds another type"],
    [`ssh-ed25519 ${wire("ssh-ed25519", Array(31).fill(1))}`, "ed25519 key is damaged"],
    [`ssh-ed25519 ${wire("ssh-ed25519", Array(32).fill(1), "more")}`, "ed25519 key is damaged"],
    [`ecdsa-sha2-nistp256 ${wire("ecdsa-sha2-nistp256", "nistp384", [4])}`, "not on the curve"],
    [`ecdsa-sha2-nistp256 ${wire("ecdsa-sha2-nistp256", "nistp256", [2, ...Array(64).fill(1)])}`, "damaged"],
    [`ssh-rsa ${wire("ssh-rsa", [1, 0, 1], [128, ...Array(255).fill(1)])}`, "rsa key is damaged"],
    [`ssh-rsa ${wire("ssh-rsa", [1, 0, 1], [])}`, "rsa key is damaged"],
    [`ssh-rsa ${wire("ssh-rsa", [1], [0, 255, ...Array(255).fill(1)])}`, "rsa key is damaged"],
    [`ssh-ed25519 AAAA\u0000`, "control characters"],
  ])("%j: %s", (text, expected) => {
    expect(refusal(text)).toContain(expected);
  });

  test("no text makes it throw, and an accepted text is accepted again", () => {
    const mutated = fc
      .tuple(fc.constantFrom(...Object.values(publicKeys)), fc.nat(700), fc.string({ maxLength: 3 }))
      .map(([key, at, text]) => key.slice(0, at) + text + key.slice(at + text.length));
    fc.assert(
      fc.property(fc.oneof(fc.string(), mutated), (text) => {
        const parsed = parseSshPublicKey(text);
        if (parsed.ok)
          expect(parseSshPublicKey(parsed.publicKey)).toMatchObject({
            ok: true,
            publicKey: parsed.publicKey,
          });
        else expect(parsed.message).not.toBe("");
      }),
    );
  });
});

describe("the wire form", () => {
  test("base64 is read as the platform reads it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (bytes) => {
        expect(decodeBase64(btoa(String.fromCharCode(...bytes)))).toEqual(bytes);
      }),
    );
  });

  test.each(["QQ", "QQ=", "QR==", "Q===", "QQ==\n", "Q Q=", "-_8="])("%j is not strict base64", (text) => {
    expect(decodeBase64(text)).toBeNull();
  });

  test("fields must fill the structure exactly", () => {
    expect(readWireFields(new Uint8Array([0, 0, 0, 1, 65]))).toEqual([new Uint8Array([65])]);
    expect(readWireFields(new Uint8Array([0, 0, 0, 2, 65]))).toBeNull();
    expect(readWireFields(new Uint8Array([0, 0, 0, 1, 65, 0]))).toBeNull();
    expect(readWireFields(new Uint8Array([255, 255, 255, 255, 65]))).toBeNull();
  });
});
