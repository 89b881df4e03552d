import type { MapModel, MapServer, MapSubnet } from "./map-model.ts";

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

export type SubnetBox = Box & {
  readonly subnet: MapSubnet;
  /** The servers that are drawn, each in a row of its own, and the number of the others. */
  readonly servers: readonly { readonly server: MapServer; readonly y: number; readonly height: number }[];
  readonly more: number;
  /** The line from the network's main line to the subnet. */
  readonly wire: string;
};

export type MapLayout = {
  readonly width: number;
  readonly height: number;
  readonly isNarrow: boolean;
  readonly internet: Box;
  readonly gateway: Box;
  readonly frame: Box;
  readonly router: Box;
  /** From the router along the subnets. */
  readonly wires: readonly string[];
  readonly subnets: readonly SubnetBox[];
  readonly others: readonly (Box & { readonly other: MapModel["others"][number] })[];
  readonly moreOthers: number;
  /** The position of the text at the isolation line. */
  readonly othersTop: number;
};

/** Sizes in pixels at the intended width of a map, where its font size is that of the page's small text. */
export const mapWidths = { wide: 980, narrow: 308 } as const;

const edge = 2;
const inside = 16;
const between = 16;
const headHeight = 112;
/** On the narrowest screens the map is scaled down, and a row is still 24 px high for a finger. */
const rowHeight = 30;
const publicHeight = 18;
const shownServers = 8;

export function layoutMap(model: MapModel, width: number): MapLayout {
  const isNarrow = width < 600;
  const frameTop = 92;
  const internet = centred(width, 8, isNarrow ? 132 : 160, 36);
  const gateway = centred(width, frameTop - 21, isNarrow ? 190 : 250, 42);
  const frame = { x: edge, y: frameTop, width: width - 2 * edge };
  const routerTop = frameTop + (isNarrow ? 66 : 54);
  const router = centred(width, routerTop, isNarrow ? 216 : 236, 30);
  const middle = width / 2;

  const columns = isNarrow ? 1 : Math.min(4, Math.max(1, model.subnets.length));
  // The line runs beside the boxes where it does not run above them.
  const left = frame.x + inside + (isNarrow || model.subnets.length > columns ? 14 : 0);
  const boxWidth = (frame.x + frame.width - inside - left - (columns - 1) * between) / columns;
  const trunk = frame.x + inside;
  const routerBottom = router.y + router.height;

  const subnets: SubnetBox[] = [];
  const wires: string[] = [];
  let top = routerBottom + (isNarrow ? 22 : 44);
  let lastStub = routerBottom;
  for (let first = 0; first < model.subnets.length; first += columns) {
    const row = model.subnets.slice(first, first + columns);
    const height = Math.max(...row.map(boxHeight));
    const bus = top - 22;
    for (const [column, subnet] of row.entries()) {
      const x = left + column * (boxWidth + between);
      const stub = isNarrow ? top + 24 : x + boxWidth / 2;
      lastStub = isNarrow ? stub : bus;
      subnets.push({
        x,
        y: top,
        width: boxWidth,
        height,
        subnet,
        ...serverRows(subnet, top),
        wire: isNarrow
          ? `M${middle} ${routerBottom}V${routerBottom + 11}H${trunk}V${stub}H${x}`
          : first === 0
            ? `M${middle} ${routerBottom}V${bus}H${stub}V${top}`
            : `M${middle} ${routerBottom}V${routerBottom + 22}H${trunk}V${bus}H${stub}V${top}`,
      });
    }
    top += height + (isNarrow ? between : 44);
  }
  if (subnets.length > 0) for (const wire of new Set(subnets.map(({ wire }) => wire))) wires.push(wire);
  const contentBottom = subnets.length === 0 ? routerBottom + 56 : Math.max(lastStub, bottomOf(subnets));
  const frameHeight = contentBottom + inside - frameTop;

  const othersTop = frameTop + frameHeight + 42;
  const shownOthers = model.others.slice(0, isNarrow ? 2 : 4);
  const otherWidth = isNarrow ? width - 2 * edge : (width - 2 * edge - 3 * between) / 4;
  const others = shownOthers.map((other, index) => ({
    other,
    x: edge + (isNarrow ? 0 : index * (otherWidth + between)),
    y: othersTop + 18 + (isNarrow ? index * (44 + 8) : 0),
    width: otherWidth,
    height: 44,
  }));
  const moreOthers = model.others.length - shownOthers.length;
  const height =
    others.length === 0 ? frameTop + frameHeight + edge : bottomOf(others) + (moreOthers > 0 ? 24 : 0) + edge;
  return {
    width,
    height,
    isNarrow,
    internet,
    gateway,
    frame: { ...frame, height: frameHeight },
    router,
    wires,
    subnets,
    others,
    moreOthers,
    othersTop,
  };
}

const bottomOf = (boxes: readonly Box[]) =>
  boxes.reduce((lowest, { y, height }) => Math.max(lowest, y + height), 0);

function centred(width: number, y: number, boxWidth: number, height: number): Box {
  return { x: (width - boxWidth) / 2, y, width: boxWidth, height };
}

const heightOf = ({ publicAddresses }: MapServer) => rowHeight + publicAddresses.length * publicHeight;

function boxHeight({ servers }: MapSubnet): number {
  const rows = servers.slice(0, shownServers).reduce((sum, server) => sum + heightOf(server), 0);
  const more = servers.length > shownServers ? rowHeight : 0;
  return headHeight + (servers.length === 0 ? rowHeight : rows + more) + 10;
}

function serverRows(subnet: MapSubnet, top: number): Pick<SubnetBox, "servers" | "more"> {
  let y = top + headHeight;
  const servers = subnet.servers.slice(0, shownServers).map((server) => {
    const row = { server, y, height: heightOf(server) };
    y += row.height;
    return row;
  });
  return { servers, more: subnet.servers.length - servers.length };
}

/** The part of a text that fits, by the average width of its letters. */
export function fitted(text: string, width: number, letterWidth: number): string {
  const room = Math.max(1, Math.floor(width / letterWidth));
  const letters = [...text];
  return letters.length <= room ? text : `${letters.slice(0, room - 1).join("")}…`;
}
