import { expect, test } from "vitest";
import { isPublicSuffix } from "./public-suffix.ts";

test.each(["co.uk", "com.tr", "kawasaki.jp", "xn--55qx5d.cn"])("others register under %s", (name) => {
  expect(isPublicSuffix(name)).toBe(true);
});

test.each(["example.co.uk", "city.kawasaki.jp", "example.com", "github.io", "shop.test", "a.b.internal"])(
  "%s is somebody's domain",
  (name) => {
    expect(isPublicSuffix(name)).toBe(false);
  },
);
