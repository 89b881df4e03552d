import { expect, test } from "vitest";
import { environment, unterminated, wordsOf } from "./haproxy-words.ts";

test("words end at blanks, outside of quotes and where none is escaped", () => {
  expect(wordsOf("  http-check send  uri '/a b' hdr\tX \"c d\" e\\ f")).toEqual(
    "http-check|send|uri|/a b|hdr|X|c d|e f".split("|"),
  );
  expect(wordsOf("")).toEqual([]);
  expect(wordsOf("cookie ''")).toEqual(["cookie", ""]);
});

test("a quote that ends early makes words of what follows", () => {
  expect(wordsOf("uri '/x' hdr Y 'z' ver HTTP/1.1")).toEqual([
    "uri",
    "/x",
    "hdr",
    "Y",
    "z",
    "ver",
    "HTTP/1.1",
  ]);
  expect(wordsOf("uri '/x")).toEqual([unterminated]);
});

test("a hash outside of quotes ends the line, and so does a NUL", () => {
  expect(wordsOf("uri /x# ver HTTP/1.1")).toEqual(["uri", "/x"]);
  expect(wordsOf("uri '/x#y' ver")).toEqual(["uri", "/x#y", "ver"]);
  expect(wordsOf("uri /x\0 ver")).toEqual(["uri", "/x"]);
});

test("variables of the environment are read between double quotes, and only there", () => {
  expect(wordsOf('uri "/$HOME"')).toEqual(["uri", `/${environment}HOME`]);
  expect(wordsOf("uri '/$HOME' /$HOME")).toEqual(["uri", "/$HOME", "/$HOME"]);
  expect(wordsOf('uri "/\\$HOME"')).toEqual(["uri", "/$HOME"]);
});

test("a backslash makes other characters outside of single quotes", () => {
  expect(wordsOf("a\\#b c\\x41 'd\\x41' e\\nf")).toEqual(["a#b", "cA", "d\\x41", "e\nf"]);
});
