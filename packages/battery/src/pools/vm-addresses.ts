import type { ServerPayload } from "@kule/contract/schemas";

type Payload = ServerPayload;

/**
 * Which public addresses each VM may have, from the agents' payloads alone: from the moment at which an agent
 * gets an address, until another job of that server has ended without it.
 */
export class VmAddresses {
  readonly #mayHave = new Map<string, Set<string>>();

  /** An agent is given the job. @returns addresses that another VM may have at this moment */
  begun(payload: Payload): string[] {
    const server = payload.server.id;
    const own = this.#mayHave.get(server) ?? new Set();
    this.#mayHave.set(server, own);
    return addressesIn(payload).flatMap((address) => {
      const others = this.withAddress(address).filter((each) => each !== server);
      own.add(address);
      return others.map(
        (other) =>
          `${address} may be on two servers: ${payload.kind} puts it on ${server}, and ${other} may have it`,
      );
    });
  }

  /** The job has succeeded: its payload is the present state. */
  ended(payload: Payload): void {
    if (payload.kind === "ServerDestroy") this.#mayHave.delete(payload.server.id);
    else if ("public_interface" in payload)
      this.#mayHave.set(payload.server.id, new Set(addressesIn(payload)));
  }

  withAddress(address: string): string[] {
    return [...this.#mayHave].flatMap(([server, addresses]) => (addresses.has(address) ? [server] : []));
  }
}

function addressesIn(payload: Payload): string[] {
  switch (payload.kind) {
    case "ServerCreate":
    case "ServerRebuild":
    case "PublicIpAttach":
    case "PublicIpDetach":
      return payload.public_interface?.addresses.map(({ address }) => address) ?? [];
    default:
      return [];
  }
}
