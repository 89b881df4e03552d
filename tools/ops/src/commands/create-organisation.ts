import type { Command } from "../command.ts";

export const createOrganisation: Command = {
  noun: "organisation",
  verb: "create",
  summary: "Create an organisation",
  options: {
    slug: { value: "SLUG", about: "its short name, such as acme", isRequired: true },
    name: { value: "NAME", about: "its name as people read it", isRequired: true },
  },
  async run(given, api) {
    const body = { slug: given.needed("slug"), name: given.needed("name") };
    const created = await api.ask(
      api.client().POST("/organisations", { body, params: { header: api.once() } }),
    );
    return { json: created, text: () => `created ${created.id} (${created.slug})` };
  },
};
