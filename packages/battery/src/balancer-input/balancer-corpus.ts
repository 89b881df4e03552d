import { guestTexts } from "../guest-input/hostile-corpus.ts";
import type { RowRun } from "../row.ts";

/** Of every sample: those that end what is around them, are evaluated, or are more than one word. */
const always = [
  "x'\n    http-request deny\n'",
  "%[env(HOME)]",
  "x y",
  "x [verify none]",
  "!example.com",
  "2026-11",
] as const;
/** Texts that end a word, a line, a section or a file of haproxy's or keepalived's, or mean something to them. */
const breakingOut = [
  "\n    server evil 6.6.6.6:80\n",
  "\nbackend evil\n",
  "\nlisten evil\n    bind :1\n",
  "\n    stats socket ipv4@0.0.0.0:1 level admin",
  "x' hdr X evil '",
  'x" hdr X evil "',
  "' ver HTTP/1.0 #",
  " # comment",
  "#",
  "\\",
  "\\\n",
  "\r\nX: y",
  "\0",
  "%[src]",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the attack
  "${HOME}",
  "$HOME",
  '"$HOME"',
  " backup",
  " unless { always_false }",
  " if TRUE",
  "} accept {",
  "-f /etc/passwd",
  "@1",
  "*",
  "*.",
  "[alpn h2]",
  "\ncertificates/cert_other.pem",
  "\n0.0.0.0/0",
  ",0.0.0.0/0",
  ",rstatus .*",
  "\n    http-check expect status 500",
  '\n}\nvrrp_script evil {\n    script "/bin/sh"\n}',
  'include "/etc/passwd"',
  "127.0.0.1",
  "0.0.0.0",
  "10.20.0.1:22",
  "10.20.0.9 check-ssl",
  "lsn_evil",
  "tgt_evil",
  "12e",
] as const;
/** Of the other texts, in a sample. */
const fewest = 24;

/** Every text of a run, once. */
export function balancerTexts({ scale, random }: RowRun): readonly string[] {
  const others = [...new Set([...breakingOut, ...guestTexts])].filter(
    (text) => !always.some((one) => one === text),
  );
  if (scale === "full") return [...always, ...others];
  const step = Math.ceil(others.length / fewest);
  const offset = Math.floor(random() * step);
  return [...always, ...others.filter((_, index) => index % step === offset)];
}
