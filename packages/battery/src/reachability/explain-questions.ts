import { inParallel } from "../races/in-parallel.ts";
import { expectationOf, type PacketQuestion } from "./questions.ts";
import type { Topology, TopologyServer } from "./topology.ts";

const clients = 3;

/** Another organisation's resources cannot be named in the API: the answer reveals nothing of them. */
export const explainQuestions = (
  topology: Topology,
  questions: readonly PacketQuestion[],
): PacketQuestion[] =>
  questions.filter((question) => !isAboutAnother(topology, question) && question.bytes === undefined);

/** Sends the questions of the packets to the API, and compares its answers with the same intent. */
export async function explainViolations(
  topology: Topology,
  questions: readonly PacketQuestion[],
): Promise<string[]> {
  const found = await inParallel(questions.length, clients, async (index) => {
    const question = questions[index];
    return question === undefined ? null : explainViolation(topology, question);
  });
  return found.flatMap((each) => each ?? []);
}

async function explainViolation(topology: Topology, question: PacketQuestion): Promise<string | null> {
  const { sender, to, by, port, name, from } = question;
  const holder = holderOf(topology, to);
  const about = sender ?? holder ?? gatewayAt(topology, to);
  const api = topology.apis.get(about?.organisation ?? "");
  if (about === null || api === undefined) throw new Error(`${name} is about nobody's network`);
  const ask = () =>
    api.post(`/networks/${about.networkId}/explain`, {
      from: sender === null ? { address: from } : { server_id: sender.id },
      to: sender === null && holder !== null ? { server_id: holder.id } : { address: to },
      protocol: by,
      ...(port === null ? {} : { port }),
    });
  let answer = await ask();
  // On a machine that is short of time the wait for a connection may end as "try again".
  for (let tries = 1; answer.status === 503 && tries < 5; tries += 1) answer = await ask();
  const { verdict } = expectationOf(topology, question);
  const expected = `200 ${verdict.isAllowed ? "allowed" : "denied"} by ${verdict.decision.by}`;
  const said = `${answer.status} ${answer.body?.verdict} by ${answer.body?.decided_by?.type}`;
  return said === expected ? null : `${name}: explain says ${said}, and the intent ${expected}`;
}

/** Either end belongs to an organisation that the caller cannot see. */
function isAboutAnother(topology: Topology, { sender, to }: PacketQuestion): boolean {
  const holder = holderOf(topology, to);
  const gateway = gatewayAt(topology, to);
  if (sender === null) return holder === null && gateway === null;
  if (holder !== null && holder.organisation !== sender.organisation) return true;
  return gateway !== null && gateway.networkId !== sender.networkId;
}

/** The network whose gateway has the address. */
function gatewayAt({ intent, subnets }: Topology, to: string) {
  const networkId = intent.gateways.find(({ address }) => address === to)?.networkId;
  return subnets.find((each) => each.networkId === networkId) ?? null;
}

const holderOf = ({ servers }: Topology, to: string): TopologyServer | null =>
  servers.find(({ publicAddresses }) => publicAddresses.includes(to)) ?? null;
