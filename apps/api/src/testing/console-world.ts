import { randomUUID } from "node:crypto";
import type { Settings } from "../platform/settings.ts";
import type { SessionTimes } from "../products/consoles/index.ts";
import type { Answer, ApiCaller } from "./api-caller.ts";
import { ConsoleParty, type ListeningReplica, listen } from "./console-parties.ts";
import { ServerWorld } from "./server-world.ts";

type Body = Answer["body"];

/** Longer than any check of a process, and shorter than a test may take: what does not come is named. */
const patienceMs = 60_000;

/** Two processes of the API that serve consoles, a running server, and both ends of a session to play. */
export class ConsoleWorld {
  readonly servers: ServerWorld;
  readonly one: ListeningReplica;
  readonly two: ListeningReplica;
  readonly serverId: string;
  readonly #parties: ConsoleParty[] = [];

  private constructor(servers: ServerWorld, one: ListeningReplica, two: ListeningReplica, serverId: string) {
    this.servers = servers;
    this.one = one;
    this.two = two;
    this.serverId = serverId;
  }

  /** @param port of the first process, for tests whose `settings` name its address; any free one otherwise */
  static async open(settings: Partial<Settings> = {}, port = 0): Promise<ConsoleWorld> {
    const servers = await ServerWorld.open(settings);
    const one = await listen(servers.world.replica, {}, port);
    const two = await listen(await servers.world.addReplica(settings));
    return new ConsoleWorld(servers, one, two, (await servers.createRunning()).id);
  }

  /** One more process. */
  async listen(times: Partial<SessionTimes> = {}): Promise<ListeningReplica> {
    return listen(await this.servers.world.addReplica(), times);
  }

  async ticketOf(
    caller: ApiCaller = this.servers.owned,
    body: object = {},
    id = this.serverId,
  ): Promise<Body> {
    const answer = await caller.post(`/servers/${id}/console`, body);
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async browser(
    ticket: Body,
    replica = this.one,
    headers: Record<string, string> = {},
  ): Promise<ConsoleParty> {
    const url = `${replica.origin.replace("http", "ws")}${new URL(ticket.url).pathname}`;
    const protocols = [ticket.protocol, `kule.ticket.${ticket.ticket}`];
    return this.#keep(await ConsoleParty.open(url, protocols, headers));
  }

  async claim(waitSeconds = 5, claimId: string = randomUUID()): Promise<Body> {
    const body = { claim_id: claimId, agent_version: "0.1.0", wait_seconds: waitSeconds };
    const answer = await this.servers.agent.api.post("/agent/consoles/claim", body);
    return answer.status === 204 ? null : answer.body.console;
  }

  async agent(
    sessionId: string,
    replica = this.one,
    token = this.servers.agent.api.token,
  ): Promise<ConsoleParty> {
    const url = `${replica.origin.replace("http", "ws")}/api/v1/agent/consoles/${sessionId}`;
    return this.#keep(
      await ConsoleParty.open(url, ["kule.console.v1"], { authorization: `Bearer ${token}` }),
    );
  }

  /** Both sides, each at its replica, with the machine answering. */
  async session(
    from = this.one,
    to = this.one,
    body: object = {},
    caller: ApiCaller = this.servers.owned,
    id = this.serverId,
  ) {
    const ticket = await this.ticketOf(caller, body, id);
    const claimed = this.claim();
    const near = await this.browser(ticket, from);
    const far = await this.agent((await claimed).session_id, to);
    far.socket.send('{"type":"open"}');
    if (ticket.type === "serial") await near.until(({ texts }) => texts.length === 1);
    return { ticket, near, far };
  }

  async rowOf(sessionId: string): Promise<Body> {
    return (await this.servers.rows("select * from console_session where id = $1", [sessionId]))[0];
  }

  async untilClosed(sessionId: string): Promise<void> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const row = await this.rowOf(sessionId);
      if (row.state === "closed") return;
      if (performance.now() > deadline) throw new Error(`not closed: ${JSON.stringify(row)}`);
    }
  }

  /** What the audit trail records of a session beyond its ticket, in its order. */
  async auditOf(sessionId: string, entries: number): Promise<Body[]> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const rows = await this.servers.rows(
        "select action, actor_id, details from audit where details->>'session' = $1 and action <> 'server.console' order by at",
        [sessionId],
      );
      if (rows.length >= entries) return rows;
      if (performance.now() > deadline)
        throw new Error(
          `${rows.length} of ${entries} entries are in the audit trail: ${JSON.stringify(rows)}`,
        );
    }
  }

  /** Leaves no session to the next test. */
  async endSessions(): Promise<void> {
    for (const party of this.#parties.splice(0)) party.socket.terminate();
    await this.servers.rows(
      "update console_session set state = 'closed', closed_at = now(), ticket_hash = null where state <> 'closed'",
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.one.close(), this.two.close()]);
    await this.servers.close();
  }

  #keep(party: ConsoleParty): ConsoleParty {
    this.#parties.push(party);
    return party;
  }
}
