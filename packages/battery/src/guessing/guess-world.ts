import { withChecksum } from "@kule/api/platform/tokens";
import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld, type TestOrganisation } from "@kule/api/testing/api-world";
import { Authenticator } from "@kule/api/testing/authenticator";
import { made } from "@kule/api/testing/proofs/tenant";
import pg from "pg";

export type Person = {
  readonly email: string;
  readonly password: string;
  readonly memberId: string;
  readonly session: ApiCaller;
};

/** An API of two processes with people who sign in, and an attacker who guesses. */
export class GuessWorld {
  readonly world: ApiWorld;
  readonly acme: TestOrganisation;
  /** Callers without a sign-in, at each of the processes in turn. */
  readonly strangers: readonly ApiCaller[];
  readonly #owner: pg.Pool;
  #people = 0;

  private constructor(world: ApiWorld, acme: TestOrganisation, strangers: readonly ApiCaller[]) {
    this.world = world;
    this.acme = acme;
    this.strangers = strangers;
    this.#owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
    this.#owner.on("error", () => {});
  }

  static async use<T>(work: (world: GuessWorld) => Promise<T>): Promise<T> {
    const world = await ApiWorld.open();
    try {
      const other = await world.addReplica();
      const strangers = [new ApiCaller(world.app, null), new ApiCaller(other.app, null)];
      const guesses = new GuessWorld(world, await world.addOrganisation("acme"), strangers);
      try {
        return await work(guesses);
      } finally {
        await guesses.#owner.end();
      }
    } finally {
      await world.close();
    }
  }

  get stranger(): ApiCaller {
    return this.strangers[0] ?? new ApiCaller(this.world.app, null);
  }

  /** A caller whose packets come from this address. */
  from(address: string): ApiCaller {
    const env = { incoming: { socket: { remoteAddress: address } } };
    const request: ApiCaller["app"]["request"] = (path, init) => this.world.app.request(path, init, env);
    return new ApiCaller({ request }, null);
  }

  async addPerson(by = this.stranger): Promise<Person> {
    this.#people += 1;
    const email = `person-${this.#people}@example.org`;
    const { member, password } = await addMember(this.acme.owner, { email, name: "Ada", role: "member" });
    const login = made(await by.post("/auth/login", { email, password }));
    const session = new ApiCaller(this.world.app, login.token as string);
    return { email, password, memberId: member.id, session };
  }

  /** The same with a second factor. */
  async addCarefulPerson(): Promise<Person> {
    const person = await this.addPerson();
    const { secret } = made(await person.session.post("/me/totp"));
    made(await person.session.post("/me/totp/confirm", { code: new Authenticator(secret).next() }));
    return person;
  }

  async signInOf({ email, password }: Person): Promise<string> {
    return made(await this.stranger.post("/auth/login", { email, password })).sign_in;
  }

  async invite(email: string): Promise<{ readonly id: string; readonly secret: string }> {
    const { invitation, secret } = made(
      await this.acme.owner.post("/invitations", { email, role: "viewer" }),
    );
    return { id: invitation.id, secret };
  }

  /**
   * As well-formed as the given one, but invalid: with another id, or with another secret for the same id.
   */
  madeUp(like: string, part: "id" | "secret"): string {
    const [kule = "", tag = "", id = "", rest = ""] = like.split("_");
    const turned = (text: string) => (text === "7" ? "8" : "7");
    const other =
      part === "id"
        ? [kule, tag, `${id.slice(0, -1)}${turned(id.slice(-1))}`, rest.slice(0, -6)]
        : [kule, tag, id, `${turned(rest.slice(0, 1))}${rest.slice(1, -6)}`];
    return withChecksum(other.join("_"));
  }

  /** Guesses of before are out of count. */
  async deleteFailures(): Promise<void> {
    await this.#owner.query("delete from login_failure");
  }

  /** Makes earlier failures this much older. */
  async passSeconds(seconds: number): Promise<void> {
    await this.#owner.query("update login_failure set at = at - make_interval(secs => $1)", [seconds]);
  }
}
