// One process for all machines of a wired network: it captures every frame that any of them receives, sends
// as any of them, and answers in their place. It runs next to the namespaces; controlled by lines on its
// standard input.

import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { echo, icmp, ipBytes, quotesAnother, sightingOf, sourceOf, tokenOf } from "./frames.ts";
import {
  abort,
  acceptOne,
  answerDatagrams,
  beginToConnect,
  bindTo,
  close,
  frameSocket,
  inetSocket,
  inNamespace,
  interfaceNumber,
  listenOn,
  receive,
  sendFrame,
  sendTo,
} from "./libc.ts";
import type { Place, PlaceSeen, Shot, StationAnswer, StationOrder, VolleyOutcome } from "./volley.ts";

type Ear = { readonly place: string; readonly device: string; readonly mac: string; readonly socket: number };

const ears: Ear[] = [];
const namespaces = new Map<string, string>();
const greeters: number[] = [];
const echoes: number[] = [];

function attend(place: Place, ports: readonly number[]): PlaceSeen {
  namespaces.set(place.name, place.namespace);
  return inNamespace(place.namespace, () => {
    const devices = Object.entries(networkInterfaces())
      .filter(([device]) => device !== "lo")
      .map(([device, own = []]) => ({
        device,
        mac: own[0]?.mac ?? "",
        addresses: own.map(addressOf(device)),
      }));
    const own = Object.entries(networkInterfaces()).flatMap(([device, all = []]) =>
      all.map(addressOf(device)),
    );
    for (const { device, mac } of devices)
      ears.push({ place: place.name, device, mac, socket: frameSocket(device) });
    for (const port of ports) {
      // Serves both versions.
      const greeter = inetSocket("tcp", 6);
      if (!bindTo(greeter, "::", port)) throw new Error(`${place.name} cannot answer at port ${port}`);
      listenOn(greeter);
      greeters.push(greeter);
      // One for each address: one for all of them would answer from whichever it likes best.
      for (const address of own) {
        const socket = inetSocket("udp", address.includes(":") ? 6 : 4);
        if (!bindTo(socket, address, port))
          throw new Error(`${place.name} cannot answer at ${address} ${port}`);
        echoes.push(socket);
      }
    }
    return { name: place.name, devices };
  });
}

const addressOf =
  (device: string) =>
  ({ address }: { readonly address: string }) =>
    address.startsWith("fe80") ? `${address}%${interfaceNumber(device)}` : address;

class Volley {
  readonly #shots = new Map<number, Shot>();
  readonly #waiting = new Map<number, Shot["until"]>();
  readonly #arrived = new Map<string, VolleyOutcome["arrived"][number]>();
  readonly #overheard = new Map<string, VolleyOutcome["arrived"][number]>();
  readonly #answered = new Set<number>();
  readonly #unsent: number[] = [];
  readonly #connecting: number[] = [];
  readonly #shooters: number[] = [];

  async shoot(shots: readonly Shot[], limitMs: number, graceMs: number): Promise<VolleyOutcome> {
    for (const shot of shots) {
      this.#shots.set(shot.flow, shot);
      if (shot.until !== "nothing") this.#waiting.set(shot.flow, shot.until);
    }
    const byPlace = Map.groupBy(shots, ({ place }) => place);
    // In small batches: a queue in between has a thousand entries.
    for (const [place, own] of byPlace)
      for (let first = 0; first < own.length; first += 50) {
        inNamespace(namespaces.get(place) ?? "", () => {
          for (const shot of own.slice(first, first + 50))
            if (!this.#send(shot)) this.#unsent.push(shot.flow);
        });
        this.#look();
      }
    await this.#until(() => this.#waiting.size === 0, limitMs);
    await this.#until(() => false, graceMs);
    for (const socket of this.#connecting) abort(socket);
    for (const socket of this.#shooters) close(socket);
    return {
      arrived: [...this.#arrived.values()],
      overheard: [...this.#overheard.values()],
      answered: [...this.#answered],
      unsent: this.#unsent,
    };
  }

  async #until(isOver: () => boolean, limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    for (this.#look(); !isOver() && performance.now() < end; this.#look()) await delay(3);
  }

  #send(shot: Shot): boolean {
    if (shot.by === "frame") {
      const ear = ears.find(({ place, device }) => place === shot.place && device === shot.device);
      return ear !== undefined && sendFrame(ear.socket, Buffer.from(shot.frame, "base64"));
    }
    const [host = "", zone] = shot.to.split("%");
    const version = host.includes(":") ? 6 : 4;
    const to = zone === undefined ? host : `${host}%${interfaceNumber(zone)}`;
    const kind = shot.by === "icmp" && version === 6 ? "icmp6" : shot.by;
    const socket = inetSocket(kind, version);
    (kind === "tcp" ? this.#connecting : this.#shooters).push(socket);
    const port = shot.by === "icmp" ? 0 : shot.flow;
    if (!bindTo(socket, shot.from ?? (version === 4 ? "0.0.0.0" : "::"), port)) return false;
    if (kind === "tcp") {
      beginToConnect(socket, to, shot.port);
      return true;
    }
    const more = shot.bytes ?? 0;
    if (kind === "udp")
      return sendTo(socket, Buffer.concat([tokenOf(shot.flow), Buffer.alloc(more)]), to, shot.port);
    const header = { source: version === 4 ? "0.0.0.0" : "::", destination: host };
    return sendTo(socket, icmp(header, version === 4 ? 8 : 128, 0, echo(shot.flow, more)), to, 0);
  }

  /** Sends answers, and checks what has arrived. */
  #look(): void {
    for (const ear of ears)
      for (let frame = receive(ear.socket); frame !== null; frame = receive(ear.socket))
        this.#hear(ear, frame);
    for (const socket of echoes) answerDatagrams(socket);
    for (const socket of greeters)
      for (let caller = acceptOne(socket); caller !== null; caller = acceptOne(socket)) abort(caller);
  }

  #hear({ place, device, mac }: Ear, frame: Buffer): void {
    if (frame.length < 34 || quotesAnother(frame)) return;
    const sighting = sightingOf(frame);
    if (sighting === null) return;
    const { flow, is, to } = sighting;
    const shot = this.#shots.get(flow);
    // Of an earlier volley: the kernel repeats what was not acknowledged.
    if (shot === undefined) return;
    if (is === "answer") {
      if (to !== mac || place !== shot.place || !isFromTarget(shot, frame)) return;
      this.#answered.add(flow);
      this.#waiting.delete(flow);
      return;
    }
    const isForIt = to === mac || (Number.parseInt(to.slice(0, 2), 16) & 1) === 1;
    (isForIt ? this.#arrived : this.#overheard).set(`${flow} ${place} ${device}`, { flow, place, device });
    if (isForIt && this.#waiting.get(flow) === "arrived") this.#waiting.delete(flow);
  }
}

/** An answer from another address than the target's does not count. */
function isFromTarget(shot: Shot, frame: Buffer): boolean {
  if (shot.by === "frame") return true;
  return sourceOf(frame)?.equals(ipBytes(shot.to.split("%")[0] ?? "")) ?? false;
}

async function carryOut(order: StationOrder): Promise<StationAnswer> {
  const { id } = order;
  if (order.do === "attend") return { id, seen: order.places.map((place) => attend(place, order.ports)) };
  return { id, outcome: await new Volley().shoot(order.shots, order.limitMs, order.graceMs) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as StationOrder;
  const answer = await carryOut(order).catch(
    (error: unknown): StationAnswer => ({ id: order.id, error: String(error) }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
