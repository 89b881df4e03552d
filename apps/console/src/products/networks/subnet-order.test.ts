import { expect, test } from "vitest";
import { inAddressOrder } from "./subnet-order.ts";

test("subnets stand in the order of their addresses, not of their letters", () => {
  const cidrs = ["10.20.100.0/24", "10.20.9.0/24", "10.9.0.0/16", "192.168.0.0/24"].map((cidr) => ({ cidr }));
  expect(inAddressOrder(cidrs).map(({ cidr }) => cidr)).toEqual([
    "10.9.0.0/16",
    "10.20.9.0/24",
    "10.20.100.0/24",
    "192.168.0.0/24",
  ]);
});
