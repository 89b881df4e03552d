import fc from "fast-check";
import { agentCommands, agentWorks } from "./agent-commands.ts";
import type { Command } from "./command.ts";
import { deliveryCommands } from "./delivery-commands.ts";
import { lockServers, operationCommands, protectServers, updateServers } from "./operation-commands.ts";
import { publicIpCommands, takeIps, takeSome } from "./public-ip-commands.ts";
import type { Room } from "./real-world.ts";
import {
  accessCommands,
  keyCommands,
  networkCommands,
  resourceCommands,
  setQuotas,
  smallSubnet,
} from "./resource-commands.ts";
import {
  createServers,
  lifeCommands,
  lookAtQuotas,
  plainServers,
  purgeServers,
  serverCommands,
} from "./server-commands.ts";

const LEAST_COMMANDS = 30;
const MOST_COMMANDS = 50;

export type Sequence = { readonly room: Room; readonly commands: Command[] };
type Weighted = { readonly weight: number; readonly arbitrary: fc.Arbitrary<Command> };

const all = (weight: number, arbitraries: readonly fc.Arbitrary<Command>[]): Weighted[] =>
  arbitraries.map((arbitrary) => ({ weight, arbitrary }));
const some = (minLength: number, maxLength: number, ...commands: Weighted[]) =>
  fc.array(fc.oneof(...commands), { minLength, maxLength, size: "max" });
const theme = (...commands: Weighted[]) => some(LEAST_COMMANDS, MOST_COMMANDS, ...commands);

/** Begins with servers that run, and perhaps with addresses. */
const after = (begin: readonly Command[], rest: fc.Arbitrary<Command[]>) =>
  rest.map((more) => [...begin, agentWorks(), ...more]);

const ample = { vmids: 12, vlans: 6, addresses: 0 };

/**
 * Mostly operations on servers, because most can go wrong there; a sequence of everything reaches no state in
 * depth, so each has its theme.
 */
export function sequences(): fc.Arbitrary<Sequence> {
  const agent = all(4, agentCommands());
  const works = fc.constant(null).map(agentWorks);
  // Few servers, and many operations on each of them.
  const lives = fc
    .tuple(
      createServers(),
      createServers(),
      theme(
        ...all(2, lifeCommands()),
        ...all(1, [...deliveryCommands(), createServers(), purgeServers()]),
        ...all(2, [protectServers(), lockServers()]),
        ...all(6, agentCommands()),
      ),
    )
    .map(([one, other, rest]) => [one, other, ...rest]);
  // Operations on existing servers, while others are created and deleted.
  const operations = after(
    plainServers(4),
    theme(
      ...all(3, operationCommands()),
      ...all(1, [...lifeCommands(), ...keyCommands(), lockServers(), purgeServers(), createServers()]),
      ...all(5, agentCommands()),
      ...all(3, [works]),
    ),
  );
  // Addresses that go from server to server, with servers that go, and with places where none may be.
  const addresses = after(
    [...plainServers(5), ...smallSubnet("data"), ...takeSome(2)],
    theme(
      ...all(3, publicIpCommands()),
      ...all(1, [...lifeCommands(), purgeServers(), lockServers(), createServers(6, true)]),
      ...all(1, operationCommands().slice(0, 4)),
      ...all(1, networkCommands().slice(0, 3)),
      ...all(5, agentCommands()),
      ...all(4, [works]),
    ),
  );
  const limits = after(
    plainServers(2),
    theme(
      ...all(6, [setQuotas()]),
      ...all(3, [createServers(8, true), takeIps(), works, lookAtQuotas()]),
      ...all(1, [...lifeCommands(), ...operationCommands(), ...networkCommands(), ...keyCommands()]),
      ...all(1, [...publicIpCommands(), purgeServers()]),
      ...all(2, agentCommands()),
    ),
  );
  // More servers than a small subnet has addresses.
  const crowd = fc
    .tuple(some(12, 20, ...all(1, [createServers(11)])), some(10, 20, ...all(1, lifeCommands()), ...agent))
    .map(([creates, rest]) => [...smallSubnet(), ...creates, ...rest]);
  const scarce = fc.record({
    vmids: fc.oneof(fc.constant(12), fc.integer({ min: 1, max: 5 })),
    vlans: fc.oneof(fc.constant(6), fc.integer({ min: 1, max: 3 })),
    addresses: fc.constant(0),
  });
  const mixed = theme(
    ...all(2, [...serverCommands(), updateServers()]),
    ...agent,
    ...all(1, resourceCommands()),
  );
  const networks = theme(...all(2, [createServers()]), ...all(2, networkCommands()), ...agent);
  const sequence = (weight: number, room: fc.Arbitrary<Room>, commands: fc.Arbitrary<Command[]>) => ({
    weight,
    arbitrary: fc.record({ room, commands }),
  });
  const addressed = fc
    .integer({ min: 1, max: 4 })
    .map((each): Room => ({ vmids: 14, vlans: 8, addresses: each }));
  return fc.oneof(
    sequence(4, scarce, lives),
    sequence(5, fc.constant(ample), operations),
    sequence(5, addressed, addresses),
    sequence(3, addressed, limits),
    sequence(2, scarce, mixed),
    sequence(2, scarce, networks),
    sequence(1, scarce, theme(...all(1, accessCommands()))),
    sequence(1, fc.constant({ vmids: 20, vlans: 6, addresses: 0 }), crowd),
  );
}
