import type { PathListener, PathModel, PathTarget } from "./path-model.ts";

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
type Placed<Item> = Box & {
  readonly item: Item;
  /** The lines that lead to it, and from it to where the targets' lines begin. */
  readonly wire: string;
  readonly wireOut: string | null;
};
type More = { readonly count: number; readonly x: number; readonly y: number } | null;

export type PathLayout = {
  readonly width: number;
  readonly height: number;
  readonly isNarrow: boolean;
  readonly outside: Box;
  readonly balancer: Box;
  /** From outside to the load balancer. */
  readonly way: string;
  readonly listeners: readonly Placed<PathListener>[];
  readonly moreListeners: More;
  /** In the place of listeners or targets that do not exist. */
  readonly noListeners: Box | null;
  readonly targets: readonly Placed<PathTarget>[];
  readonly moreTargets: More;
  readonly noTargets: Box | null;
};

/** Sizes in pixels at the intended width, where the picture's font size is that of the page's small text. */
export const pathWidths = { wide: 980, narrow: 308 } as const;

const listenerHeight = 44;
const targetHeight = 36;
const gap = 10;
const moreHeight = 22;
const shownListeners = 6;
const shownTargets = 8;
const balancerHeight = 72;
const edge = 2;

/** From left to right on a desktop, from top to bottom on a phone. */
export function layoutPath(model: PathModel, width: number): PathLayout {
  return width < 600 ? narrowLayout(model, width) : wideLayout(model, width);
}

function wideLayout(model: PathModel, width: number): PathLayout {
  const listeners = model.listeners.slice(0, shownListeners);
  const targets = model.targets.slice(0, shownTargets);
  const [moreOfListeners, moreOfTargets] = moreCounts(model);
  const heights = [
    stackHeight(listeners.length, listenerHeight, moreOfListeners),
    stackHeight(targets.length, targetHeight, moreOfTargets),
    balancerHeight,
  ];
  const height = Math.max(...heights) + 2 * edge + 8;
  const middle = height / 2;
  const outside = { x: edge, y: middle - 18, width: 124, height: 36 };
  const balancer = { x: 176, y: middle - balancerHeight / 2, width: 214, height: balancerHeight };
  const balancerRight = balancer.x + balancer.width;
  const listenerColumn = { x: 444, width: 190 };
  const targetColumn = { x: 720, width: width - 720 - edge };
  const joint = targetColumn.x - 46;
  const start = (count: number, each: number, more: number) => middle - stackHeight(count, each, more) / 2;
  const listenerTop = start(listeners.length, listenerHeight, moreOfListeners);
  const targetTop = start(targets.length, targetHeight, moreOfTargets);
  return {
    width,
    height,
    isNarrow: false,
    outside,
    balancer,
    way: `M${outside.x + outside.width} ${middle}H${balancer.x}`,
    listeners: listeners.map((item, index) => {
      const y = listenerTop + index * (listenerHeight + gap);
      const at = y + listenerHeight / 2;
      const right = listenerColumn.x + listenerColumn.width;
      return {
        ...listenerColumn,
        y,
        height: listenerHeight,
        item,
        wire: curve(balancerRight, middle, listenerColumn.x, at),
        wireOut: item.isRedirect ? null : curve(right, at, joint, middle),
      };
    }),
    moreListeners: moreAt(
      moreOfListeners,
      listenerColumn.x + 14,
      listenerTop,
      listeners.length,
      listenerHeight,
    ),
    noListeners:
      listeners.length > 0
        ? null
        : { ...listenerColumn, y: middle - listenerHeight / 2, height: listenerHeight },
    targets: targets.map((item, index) => {
      const y = targetTop + index * (targetHeight + gap);
      return {
        ...targetColumn,
        y,
        height: targetHeight,
        item,
        wire: curve(joint, middle, targetColumn.x, y + targetHeight / 2),
        wireOut: null,
      };
    }),
    moreTargets: moreAt(moreOfTargets, targetColumn.x + 14, targetTop, targets.length, targetHeight),
    noTargets:
      targets.length > 0 ? null : { ...targetColumn, y: middle - targetHeight / 2, height: targetHeight },
  };
}

function narrowLayout(model: PathModel, width: number): PathLayout {
  const listeners = model.listeners.slice(0, shownListeners);
  const targets = model.targets.slice(0, shownTargets);
  const [moreOfListeners, moreOfTargets] = moreCounts(model);
  const middle = width / 2;
  const outside = { x: middle - 66, y: edge, width: 132, height: 36 };
  const balancer = { x: middle - 115, y: 60, width: 230, height: balancerHeight };
  const x = 26;
  const column = { x, width: width - x - edge };
  const trunk = 10;
  const listenerTop = balancer.y + balancerHeight + 26;
  const listenersHeight = stackHeight(Math.max(1, listeners.length), listenerHeight, moreOfListeners);
  const targetTop = listenerTop + listenersHeight + 30;
  const targetsHeight = stackHeight(Math.max(1, targets.length), targetHeight, moreOfTargets);
  const fromBalancer = `M${middle} ${balancer.y + balancerHeight}V${listenerTop - 13}H${trunk}`;
  const fromListeners = `M${middle} ${listenerTop + listenersHeight + (moreOfListeners > 0 ? 4 : 0)}V${targetTop - 13}H${trunk}`;
  return {
    width,
    height: targetTop + targetsHeight + edge,
    isNarrow: true,
    outside,
    balancer,
    way: `M${middle} ${outside.y + outside.height}V${balancer.y}`,
    listeners: listeners.map((item, index) => {
      const y = listenerTop + index * (listenerHeight + gap);
      return {
        ...column,
        y,
        height: listenerHeight,
        item,
        wire: `${fromBalancer}V${y + listenerHeight / 2}H${x}`,
        wireOut: null,
      };
    }),
    moreListeners: moreAt(moreOfListeners, x + 14, listenerTop, listeners.length, listenerHeight),
    noListeners: listeners.length > 0 ? null : { ...column, y: listenerTop, height: listenerHeight },
    targets: targets.map((item, index) => {
      const y = targetTop + index * (targetHeight + gap);
      return {
        ...column,
        y,
        height: targetHeight,
        item,
        wire: `${fromListeners}V${y + targetHeight / 2}H${x}`,
        wireOut: null,
      };
    }),
    moreTargets: moreAt(moreOfTargets, x + 14, targetTop, targets.length, targetHeight),
    noTargets: targets.length > 0 ? null : { ...column, y: targetTop, height: targetHeight },
  };
}

const moreCounts = ({ listeners, targets }: PathModel) =>
  [Math.max(0, listeners.length - shownListeners), Math.max(0, targets.length - shownTargets)] as const;

function stackHeight(count: number, each: number, more: number): number {
  return Math.max(0, count * (each + gap) - gap) + (more > 0 ? moreHeight : 0);
}

function moreAt(count: number, x: number, top: number, shown: number, each: number): More {
  return count === 0 ? null : { count, x, y: top + shown * (each + gap) - gap + 16 };
}

/** A line that leaves and arrives level. */
function curve(x: number, y: number, toX: number, toY: number): string {
  if (y === toY) return `M${x} ${y}H${toX}`;
  const half = (x + toX) / 2;
  return `M${x} ${y}C${half} ${y} ${half} ${toY} ${toX} ${toY}`;
}
