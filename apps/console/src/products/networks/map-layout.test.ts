import { expect, test } from "vitest";
import { type Box, fitted, layoutMap, mapWidths } from "./map-layout.ts";
import type { MapModel, MapSubnet } from "./map-model.ts";

const subnet = (name: string, servers: number): MapSubnet => ({
  id: `sub_${name}`,
  name,
  tier: "app",
  cidr: "10.0.0.0/24",
  egress: "none",
  used: servers,
  total: 253,
  servers: Array.from({ length: servers }, (_, index) => ({
    id: `srv_${name}_${index}`,
    name: `${name}-${index}`,
    status: "running",
    address: `10.0.0.${10 + index}`,
    publicAddresses: index === 0 ? ["203.0.113.10"] : [],
  })),
});
const model = (subnets: readonly MapSubnet[], others = 0): MapModel => ({
  name: "shop",
  cidr: "10.0.0.0/16",
  gateway: null,
  subnets,
  others: Array.from({ length: others }, (_, index) => ({
    id: `net_${index}`,
    name: `other-${index}`,
    cidr: "10.1.0.0/16",
  })),
});

const overlap = (one: Box, other: Box) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;
const isWithin = (one: Box, around: Box) =>
  one.x >= around.x &&
  one.y >= around.y &&
  one.x + one.width <= around.x + around.width &&
  one.y + one.height <= around.y + around.height;

test.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [4, 3],
  [5, 4],
  [9, 12],
])("%i subnets and %i other networks lie apart and inside the drawing, wide and narrow", (count, others) => {
  const subnets = Array.from({ length: count }, (_, index) => subnet(`s${index}`, index * 3));
  for (const width of Object.values(mapWidths)) {
    const layout = layoutMap(model(subnets, others), width);
    const all: Box = { x: 0, y: 0, width: layout.width, height: layout.height };
    const boxes = [layout.internet, layout.router, ...layout.subnets, ...layout.others];
    for (const [index, box] of boxes.entries()) {
      expect(isWithin(box, all)).toBe(true);
      for (const other of boxes.slice(index + 1)) expect(overlap(box, other)).toBe(false);
    }
    for (const box of [layout.router, ...layout.subnets]) expect(isWithin(box, layout.frame)).toBe(true);
    for (const box of [layout.internet, ...layout.others]) expect(overlap(box, layout.frame)).toBe(false);
    // The door is in the wall.
    expect(overlap(layout.gateway, layout.frame)).toBe(true);
    expect(isWithin(layout.gateway, layout.frame)).toBe(false);
  }
});

test("every server is drawn in its subnet or counted", () => {
  const layout = layoutMap(model([subnet("a", 2), subnet("b", 30)]), mapWidths.wide);
  for (const box of layout.subnets) {
    expect(box.servers.length + box.more).toBe(box.subnet.servers.length);
    for (const row of box.servers) {
      expect(row.y).toBeGreaterThan(box.y);
      expect(row.y + row.height).toBeLessThanOrEqual(box.y + box.height);
    }
  }
});

test("a text that is too long ends in an ellipsis", () => {
  expect(fitted("short", 100, 7)).toBe("short");
  expect(fitted("much-too-long-for-it", 70, 7)).toBe("much-too-…");
});
