import { expect, test } from "vitest";
import { inAddressOrder } from "./subnet-order.ts";

test("subnets are sorted by their addresses as numbers, not as text", () => {
  const cidrs = ["10.20.100.0/24", "10.20.9.0/24", "10.9.0.0/16", "192.168.0.0/24"].map((cidr) => ({ cidr }));
  expect(inAddressOrder(cidrs).map(({ cidr }) => cidr)).toEqual([
    "10.9.0.0/16",
    "10.20.9.0/24",
    "10.20.100.0/24",
    "192.168.0.0/24",
  ]);
});
