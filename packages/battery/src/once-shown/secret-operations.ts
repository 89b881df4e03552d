import type { ApiCaller } from "@kule/api/testing/api-caller";

/** An operation whose answer shows a secret that cannot be shown again. */
export type SecretOperation = {
  readonly name: string;
  readonly path: string;
  /** The field of the answer. */
  readonly field: string;
  readonly caller: ApiCaller;
  /** @param name unused, in lower case with hyphens */
  body(name: string): object;
  /** The list that contains what was created, by its name. */
  readonly list: string;
  /** The name or e-mail of an item of the list, which identifies it. */
  nameOf(item: Readonly<Record<string, unknown>>): unknown;
};

export type SecretCallers = {
  readonly owner: ApiCaller;
  readonly operator: ApiCaller;
  readonly region: string;
};

const named = (item: Readonly<Record<string, unknown>>) => item.name;

export function secretOperations({ owner, operator, region }: SecretCallers): SecretOperation[] {
  const server = (name: string, image: string) => ({ name, region, image, package: "l" });
  return [
    {
      name: "create of a Linux server",
      path: "/servers",
      field: "console_password",
      caller: owner,
      body: (name) => server(name, "debian-13"),
      list: "/servers",
      nameOf: named,
    },
    {
      name: "create of a Windows server",
      path: "/servers",
      field: "console_password",
      caller: owner,
      body: (name) => server(name, "windows-2022"),
      list: "/servers",
      nameOf: named,
    },
    {
      name: "new invitation",
      path: "/invitations",
      field: "secret",
      caller: owner,
      body: (name) => ({ email: `${name}@example.org`, role: "viewer" }),
      list: "/invitations",
      nameOf: (item) => (item.email as string).split("@")[0],
    },
    {
      name: "new token",
      path: "/tokens",
      field: "secret",
      caller: owner,
      body: (name) => ({ name, role: "viewer" }),
      list: "/tokens",
      nameOf: named,
    },
    {
      name: "new agent's token",
      path: `/regions/${region}/agent-tokens`,
      field: "secret",
      caller: operator,
      body: (name) => ({ name }),
      list: `/regions/${region}/agent-tokens`,
      nameOf: named,
    },
  ];
}
