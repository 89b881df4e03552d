import { inParallel } from "../races/in-parallel.ts";
import { expectationOf, type PacketQuestion } from "./questions.ts";
import type { Town, TownServer } from "./town.ts";

const clients = 3;

/** What is another organisation's is no question for the API: whoever asks learns nothing of it there. */
export const askable = (town: Town, questions: readonly PacketQuestion[]): PacketQuestion[] =>
  questions.filter((question) => !isAboutAnother(town, question) && question.bytes === undefined);

/** Asks the API what is asked of the packets, and holds its answers against the same intent. */
export async function explainViolations(town: Town, questions: readonly PacketQuestion[]): Promise<string[]> {
  const found = await inParallel(questions.length, clients, async (index) => {
    const question = questions[index];
    return question === undefined ? null : explainViolation(town, question);
  });
  return found.flatMap((each) => each ?? []);
}

async function explainViolation(town: Town, question: PacketQuestion): Promise<string | null> {
  const { sender, to, by, port, name, from } = question;
  const holder = holderOf(town, to);
  const about = sender ?? holder ?? gatewayAt(town, to);
  const api = town.apis.get(about?.organisation ?? "");
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
  const { verdict } = expectationOf(town, question);
  const expected = `200 ${verdict.isAllowed ? "allowed" : "denied"} by ${verdict.decision.by}`;
  const said = `${answer.status} ${answer.body?.verdict} by ${answer.body?.decided_by?.type}`;
  return said === expected ? null : `${name}: explain says ${said}, and the intent ${expected}`;
}

/** Either end is somebody's whom the one who asks cannot see. */
function isAboutAnother(town: Town, { sender, to }: PacketQuestion): boolean {
  const holder = holderOf(town, to);
  const gateway = gatewayAt(town, to);
  if (sender === null) return holder === null && gateway === null;
  if (holder !== null && holder.organisation !== sender.organisation) return true;
  return gateway !== null && gateway.networkId !== sender.networkId;
}

/** The network whose gateway has the address. */
function gatewayAt({ intent, subnets }: Town, to: string) {
  const networkId = intent.gateways.find(({ address }) => address === to)?.networkId;
  return subnets.find((each) => each.networkId === networkId) ?? null;
}

const holderOf = ({ servers }: Town, to: string): TownServer | null =>
  servers.find(({ publicAddresses }) => publicAddresses.includes(to)) ?? null;
