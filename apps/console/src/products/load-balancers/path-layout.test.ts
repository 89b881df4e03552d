import { describe, expect, test } from "vitest";
import { layoutPath, pathWidths } from "./path-layout.ts";
import type { PathModel } from "./path-model.ts";

const model = (listeners: number, targets: number): PathModel => ({
  name: "front",
  tone: "good",
  address: "203.0.113.7",
  isPublic: true,
  machines: 1,
  listeners: Array.from({ length: listeners }, (_, index) => ({
    id: `lsn_${index}`,
    name: `TCP ${8000 + index}`,
    targetPort: 80,
    isRedirect: index === 1,
    isOpen: true,
  })),
  targets: Array.from({ length: targets }, (_, index) => ({
    name: `web-${index}`,
    address: `10.0.0.${10 + index}`,
    status: "healthy",
    tone: "good",
    serverId: `srv_${index}`,
  })),
});

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
const overlap = (one: Box, other: Box) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

describe.each(Object.values(pathWidths))("%d pixels wide", (width) => {
  test.each([
    [0, 0],
    [1, 1],
    [2, 3],
    [6, 8],
    [32, 256],
    [1, 256],
    [32, 0],
  ])("%d listeners and %d targets are drawn inside, and none over another", (listeners, targets) => {
    const layout = layoutPath(model(listeners, targets), width);
    const boxes = [
      layout.outside,
      layout.balancer,
      ...layout.listeners,
      ...layout.targets,
      ...[layout.noListeners, layout.noTargets].filter((box) => box !== null),
    ];
    for (const [index, box] of boxes.entries()) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.y).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(layout.width);
      expect(box.y + box.height).toBeLessThanOrEqual(layout.height);
      for (const other of boxes.slice(index + 1)) expect(overlap(box, other)).toBe(false);
    }
    for (const more of [layout.moreListeners, layout.moreTargets])
      if (more !== null) expect(more.y).toBeLessThanOrEqual(layout.height);
    expect((layout.moreListeners?.count ?? 0) + layout.listeners.length).toBe(listeners);
    expect((layout.moreTargets?.count ?? 0) + layout.targets.length).toBe(targets);
  });
});

test("no line leads from a listener that redirects to the targets", () => {
  const { listeners } = layoutPath(model(2, 1), pathWidths.wide);
  expect(listeners.map(({ wireOut }) => wireOut !== null)).toEqual([true, false]);
});
