// Proxmox pastes each key unquoted into the YAML of cloud-init's user-data, so a comment such as "me: x" or
// " #" changes the document. Only type and blob of a key are ever sent.

const KEY =
  /^(ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) ([A-Za-z0-9+/]+={0,3})(?:\s|$)/;

/** The key without its comment. Throws a TypeError on what is not one OpenSSH public key. */
export function bareSshKey(key: string): string {
  const match = KEY.exec(key.trim());
  if (!match || /[\r\n]/.test(key.trim())) throw new TypeError("not an OpenSSH public key");
  return `${match[1]} ${match[2]}`;
}

/** The value of `sshkeys`: percent-encoded once here, and again by the form. "+" for a blank is refused. */
export function encodeSshKeys(keys: readonly string[]): string {
  return encodeURIComponent(keys.map(bareSshKey).join("\n"));
}

/** The keys in a config's `sshkeys`, comments removed; what is no key stays as it is, so that it differs. */
export function decodeSshKeys(value: string | undefined): string[] {
  let text = value ?? "";
  try {
    text = decodeURIComponent(text);
  } catch {
    // Not percent-encoded: it was changed manually. It is compared as it is.
  }
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const match = KEY.exec(line);
      return match ? `${match[1]} ${match[2]}` : line;
    });
}

/** Login names that cloud-init accepts without quoting. */
export const CLOUD_INIT_USER = /^[a-z_][a-z0-9_-]{0,31}$/;
