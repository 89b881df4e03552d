import type { Settings } from "@kule/api/platform/settings";
import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld, type Replica, type TestOrganisation } from "@kule/api/testing/api-world";
import { Authenticator } from "@kule/api/testing/authenticator";
import { made } from "@kule/api/testing/proofs/tenant";

export type Person = {
  readonly email: string;
  readonly password: string;
  readonly memberId: string;
};

/** Two replicas of the API, and people of one organisation who sign in at them. */
export class SignInWorld {
  readonly acme: TestOrganisation;
  readonly replicas: readonly Replica[];
  readonly #world: ApiWorld;
  #people = 0;

  private constructor(world: ApiWorld, acme: TestOrganisation, replicas: readonly Replica[]) {
    this.#world = world;
    this.acme = acme;
    this.replicas = replicas;
  }

  static async open(settings: Partial<Settings> = {}): Promise<SignInWorld> {
    const world = await ApiWorld.open(settings);
    const second = await world.addReplica(settings);
    return new SignInWorld(world, await world.addOrganisation("acme"), [world.replica, second]);
  }

  /** For what no call does, such as moving the clock. */
  get ownerUrl(): string {
    return this.#world.database.ownerUrl;
  }

  /** As the API's own role. */
  get apiUrl(): string {
    return this.#world.database.apiUrl;
  }

  /** As the worker's own role. */
  get workerUrl(): string {
    return this.#world.database.workerUrl;
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  /** A caller without a token, at one of the replicas. */
  nobody(replica = 0): ApiCaller {
    return new ApiCaller(this.#app(replica), null);
  }

  async addPerson(role = "viewer"): Promise<Person> {
    this.#people += 1;
    const email = `person-${this.#people}@example.org`;
    const name = `Person ${this.#people}`;
    const { member, password } = await addMember(this.acme.owner, { email, name, role });
    return { email, password, memberId: member.id };
  }

  async signIn({ email, password }: Person, replica = 0): Promise<ApiCaller> {
    const session = made(await this.nobody(replica).post("/auth/login", { email, password }));
    return new ApiCaller(this.#app(replica), session.token as string);
  }

  /** The first step of a sign-in whose second is a code. */
  async firstStep({ email, password }: Person, replica = 0): Promise<string> {
    return made(await this.nobody(replica).post("/auth/login", { email, password })).sign_in as string;
  }

  /** An authenticator app for the session's person, and their recovery codes. */
  async enrol(
    session: ApiCaller,
  ): Promise<{ readonly app: Authenticator; readonly codes: readonly string[] }> {
    const app = new Authenticator(made(await session.post("/me/totp")).secret as string);
    const confirmed = made(await session.post("/me/totp/confirm", { code: app.next() }));
    return { app, codes: confirmed.recovery_codes as string[] };
  }

  #app(replica: number) {
    const chosen = this.replicas[replica];
    if (chosen === undefined) throw new Error(`there is no replica ${replica}`);
    return chosen.app;
  }
}
