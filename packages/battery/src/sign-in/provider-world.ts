import type { ApiCaller } from "@kule/api/testing/api-caller";
import { testPanelOrigin } from "@kule/api/testing/api-world";
import { made } from "@kule/api/testing/proofs/tenant";
import { answerOf, newSoftPerson, providerEntry } from "@kule/api/testing/soft-sign-ins";
import { Secret } from "@kule/region-config/secret";
import { RealProvider, signInAtProvider } from "@kule/testing/oidc/real-provider";
import { type OidcTwist, type SoftPerson, SoftProvider } from "@kule/testing/oidc/soft-provider";
import pg from "pg";
import { type Person, SignInWorld } from "./sign-in-world.ts";

/** What a browser returns with from a provider. */
export type ProviderAnswer = { readonly flow: string; readonly response: string };

/** A person who is signed in with a password, and the account that is linked at a provider. */
export type Linked<Account> = {
  readonly person: Person;
  readonly session: ApiCaller;
  readonly account: Account;
};

/**
 * An installation with two providers: the `oidc-provider` package, which is always correct, and one whose
 * answers a case determines.
 */
export class ProviderWorld {
  readonly people: SignInWorld;
  readonly real: RealProvider;
  readonly soft: SoftProvider;
  /** Another house, where other people have the same names. */
  readonly other: SoftProvider;
  readonly #database: pg.Client;
  #accounts = 0;

  private constructor(
    people: SignInWorld,
    providers: { readonly real: RealProvider; readonly soft: SoftProvider; readonly other: SoftProvider },
    database: pg.Client,
  ) {
    this.people = people;
    this.real = providers.real;
    this.soft = providers.soft;
    this.other = providers.other;
    this.#database = database;
  }

  static async open(): Promise<ProviderWorld> {
    const real = await RealProvider.start(`${testPanelOrigin}/sign-in/with/real/callback`);
    const [soft, other] = [await SoftProvider.start(), await SoftProvider.start()];
    const people = await SignInWorld.open({
      oidcProviders: [
        providerEntry(real, {
          ...{ id: "real", label: "Real ID", clientId: real.clientId },
          clientSecret: new Secret(real.clientSecret, "a test"),
        }),
        providerEntry(soft),
        providerEntry(soft, { id: "staff", label: "Staff ID", emailDomains: ["soft.example"] }),
        providerEntry(other, { id: "other", label: "Other ID" }),
      ],
    });
    const database = new pg.Client({ connectionString: people.ownerUrl });
    await database.connect();
    return new ProviderWorld(people, { real, soft, other }, database);
  }

  async close(): Promise<void> {
    await this.#database.end();
    await this.people.close();
    await Promise.all([this.real.stop(), this.soft.stop(), this.other.stop()]);
  }

  nobody(replica = 0): ApiCaller {
    return this.people.nobody(replica);
  }

  /** Makes all proofs ten minutes older. */
  async outdateProofs(): Promise<void> {
    await this.#database.query("update token set proven_at = now() - interval '11 minutes'");
  }

  /** Failed sign-ins of an address are counted, and every case comes from the same one. */
  async deleteFailures(): Promise<void> {
    await this.#database.query("delete from login_failure");
  }

  /** An account at the real provider, under the name that the person types there. */
  addAccount(email = `account-${this.#accounts + 1}@real.example`): string {
    this.#accounts += 1;
    const login = `account-${this.#accounts}`;
    this.real.addAccount(login, { email, email_verified: true, name: "Ada" });
    return login;
  }

  /**
   * To the real provider and back, as a browser is redirected; `bend` is an attacker's change of the address
   * on the way.
   */
  async wayThere(
    login: string,
    begin: () => Promise<{ readonly flow: string; readonly authorization_url: string }> = () =>
      this.beginLogin(),
    bend: (address: URL) => void = () => {},
  ): Promise<ProviderAnswer> {
    const { flow, authorization_url: address } = await begin();
    const url = new URL(address);
    bend(url);
    return { flow, response: await signInAtProvider(url.href, login) };
  }

  async beginLogin(provider = "real"): Promise<{ flow: string; authorization_url: string }> {
    return made(await this.nobody().post("/auth/oidc/authorization", { provider }));
  }

  async beginOwn(
    session: ApiCaller,
    purpose: "link" | "prove",
    provider = "real",
  ): Promise<{ flow: string; authorization_url: string }> {
    return made(await session.post("/me/identities/authorization", { provider, purpose }));
  }

  async addLinked(): Promise<Linked<string>> {
    const person = await this.people.addPerson();
    const session = await this.people.signIn(person);
    const account = this.addAccount();
    made(
      await session.post(
        "/me/identities",
        await this.wayThere(account, () => this.beginOwn(session, "link")),
      ),
    );
    return { person, session, account };
  }

  async addSoftLinked(): Promise<Linked<SoftPerson>> {
    const person = await this.people.addPerson();
    const session = await this.people.signIn(person);
    const account = newSoftPerson();
    const { flow, authorization_url: url } = await this.beginOwn(session, "link", "soft");
    made(await session.post("/me/identities", { flow, response: this.soft.answer(url, account) }));
    return { person, session, account };
  }

  /** What a browser returns with from the soft provider. */
  softAnswer(account: SoftPerson, twist: OidcTwist = {}, provider = "soft"): Promise<ProviderAnswer> {
    const begin = { path: "/auth/oidc/authorization", body: { provider } };
    return answerOf(this.nobody(), provider === "other" ? this.other : this.soft, account, begin, twist);
  }

  /** How a sign-in with the answer ends: 200 is a session, 202 a second step. */
  async enter(answer: ProviderAnswer, replica = 0): Promise<number> {
    return (await this.nobody(replica).post("/auth/oidc", answer)).status;
  }
}
