import { maxShots, type PacketStation } from "@kule/testing/packets/packet-station";
import type { Seen, Shot } from "@kule/testing/packets/volley";
import { type Expectation, expectationOf, type PacketQuestion } from "./questions.ts";
import { type Cabling, publicSegment } from "./segments.ts";
import type { Topology } from "./topology.ts";

export type Judged = {
  readonly violations: readonly string[];
  readonly allowed: number;
  readonly denied: number;
  /** Sent again, because nothing was seen of one that is allowed. */
  readonly repeated: number;
  readonly seconds: number;
};

type Open = { readonly question: PacketQuestion; readonly expectation: Expectation };

/**
 * How often a packet that must arrive is sent: on a busy machine one may be late or lost, and none may ever
 * be too many.
 */
const tries = 3;

/** Sends the packet of every question and compares where it arrived with the intent. */
export async function sendQuestions(
  station: PacketStation,
  cabling: Cabling,
  topology: Topology,
  questions: readonly PacketQuestion[],
): Promise<Judged> {
  const began = performance.now();
  const violations: string[] = [];
  const all = questions.map((question) => ({ question, expectation: expectationOf(topology, question) }));
  let open: readonly Open[] = all;
  let repeated = 0;
  for (let round = 1; open.length > 0; round += 1) {
    const missing: Open[] = [];
    for (const some of chunks(open, maxShots)) {
      const found = await shootSome(station, cabling, topology, some);
      violations.push(...found.leaks);
      missing.push(...found.missing);
    }
    // A packet that arrived where it must not is enough; a row with a mutant need not wait for the rest.
    if (round === tries || violations.length > 0) {
      violations.push(...missing.map(({ question, expectation }) => neverCame(question, expectation)));
      break;
    }
    repeated += missing.length;
    open = missing;
  }
  const allowed = all.filter(({ expectation }) => expectation.verdict.isAllowed).length;
  const seconds = (performance.now() - began) / 1000;
  return { violations, allowed, denied: all.length - allowed, repeated, seconds };
}

async function shootSome(
  station: PacketStation,
  cabling: Cabling,
  topology: Topology,
  some: readonly Open[],
): Promise<{ leaks: string[]; missing: Open[] }> {
  const flows = station.flows(some.length);
  const shots = some.map(({ question, expectation }, index): Shot => {
    const { place, by, to, port, from, bytes } = question;
    const { isAnswered, mustArrive } = expectation;
    return {
      flow: flows[index] ?? 0,
      ...{
        place,
        by,
        to,
        port: port ?? 0,
        until: isAnswered ? "answered" : mustArrive ? "arrived" : "nothing",
      },
      ...(from === undefined ? {} : { from }),
      ...(bytes === undefined ? {} : { bytes }),
    };
  });
  const { arrived, overheard, answered } = await station.shoot(shots);
  const [arrivals, asides] = [arrived, overheard].map((all) => Map.groupBy(all, ({ flow }) => flow));
  const answers = new Set(answered);
  const leaks: string[] = [];
  const missing: Open[] = [];
  for (const [index, each] of some.entries()) {
    const flow = flows[index] ?? 0;
    const places = arrivals?.get(flow) ?? [];
    leaks.push(...leaksOf(each, places, answers.has(flow)));
    leaks.push(...overheardElsewhere(each, asides?.get(flow) ?? [], cabling));
    leaks.push(...flooded(each, asides?.get(flow) ?? [], cabling, topology));
    const { mustArrive, isAnswered, place } = each.expectation;
    const hasCome = !mustArrive || places.some((at) => at.place === place);
    if (!hasCome || (isAnswered && !answers.has(flow))) missing.push(each);
  }
  return { leaks, missing };
}

function leaksOf({ question, expectation }: Open, places: readonly Seen[], isAnswered: boolean): string[] {
  const because = `although the intent says ${said(expectation)}`;
  return [
    ...places
      .filter(({ place }) => place !== expectation.place)
      .map(({ place, device }) => `${question.name}: came to ${place} ${device}, ${because}`),
    ...(isAnswered && !expectation.verdict.isAllowed ? [`${question.name}: was answered, ${because}`] : []),
  ];
}

/** A switch floods frames for an unknown receiver: on the segments of the way, and on no others. */
function overheardElsewhere({ question }: Open, places: readonly Seen[], cabling: Cabling): string[] {
  const way = cabling.mayPass(question.sender);
  return places
    .filter(({ place, device }) => !way.has(cabling.segmentAt(place, device)))
    .map(({ place, device }) => `${question.name}: was overheard by ${place} ${device}`);
}

/**
 * Packets for a gateway are for no other machine on the public network, although others are on the same
 * bridge.
 */
function flooded(
  { question }: Open,
  places: readonly Seen[],
  cabling: Cabling,
  { intent }: Topology,
): string[] {
  if (!intent.gateways.some(({ address }) => address === question.to)) return [];
  return places
    .filter(
      ({ place, device }) => cabling.segmentAt(place, device) === publicSegment && place !== question.place,
    )
    .map(({ place, device }) => `${question.name}: was flooded to ${place} ${device}`);
}

const neverCame = (question: PacketQuestion, expectation: Expectation): string =>
  `${question.name}: did not come there and back, although the intent says ${said(expectation)}`;

const said = ({ verdict, place }: Expectation): string =>
  `${verdict.isAllowed ? `yes, to ${place ?? "a router"}` : "no"} (${JSON.stringify(verdict.decision)})`;

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
