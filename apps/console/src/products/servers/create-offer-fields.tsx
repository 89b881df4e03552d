import type { Child } from "hono/jsx";
import { Problem } from "../../layout/fields.tsx";
import { Status, type Tone } from "../../layout/parts.tsx";
import { type ImageOffer, imageOffers, packageOffers } from "./create-values.ts";
import type { CreatePageProps } from "./props.ts";

const regionTones = { ok: "good", degraded: "warning", unreachable: "bad", maintenance: "idle" } as const;

/** A single choice, as cards. */
function Choices(props: {
  readonly name: string;
  readonly legend: string;
  readonly problems: readonly string[] | undefined;
  readonly children?: Child;
}) {
  return (
    <fieldset
      class="choice"
      data-invalid={props.problems === undefined ? undefined : "true"}
      aria-describedby={props.problems === undefined ? undefined : `${props.name}-problem`}
    >
      <legend>{props.legend}</legend>
      <Problem name={props.name} problems={props.problems} />
      {props.children}
    </fieldset>
  );
}

function Card(props: {
  readonly name: string;
  readonly value: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly children?: Child;
}) {
  return (
    <label class="card">
      <input
        type="radio"
        id={`${props.name}-${props.value}`}
        name={props.name}
        value={props.value}
        checked={props.checked}
        disabled={props.disabled ?? false}
      />
      <span class="card-face">{props.children}</span>
    </label>
  );
}

export function RegionChoice({ view, catalog, form, problems }: CreatePageProps) {
  const { messages } = view;
  return (
    <Choices name="region" legend={messages.create.region} problems={problems.region}>
      <div class="cards">
        {catalog.regions.map((region) => (
          <Card name="region" value={region.slug} checked={form.region === region.slug}>
            <strong>{region.name}</strong>
            <span class="mono">{region.slug}</span>
            <Status tone={regionTones[region.status] satisfies Tone}>
              {messages.create.regionStatus[region.status]}
            </Status>
          </Card>
        ))}
      </div>
    </Choices>
  );
}

export function ImageChoice(props: CreatePageProps) {
  const { messages } = props.view;
  const offers = imageOffers(props.catalog, props.form);
  const families = [
    { title: messages.create.linux, offers: offers.filter(({ image }) => image.os_family === "linux") },
    { title: messages.create.windows, offers: offers.filter(({ image }) => image.os_family === "windows") },
  ].filter((family) => family.offers.length > 0);
  return (
    <Choices name="image" legend={messages.create.image} problems={props.problems.image}>
      {families.map((family) => (
        <div class="card-group">
          <p class="card-group-title">{family.title}</p>
          <div class="cards">
            {family.offers.map((offer) => (
              <ImageCard {...props} offer={offer} />
            ))}
          </div>
        </div>
      ))}
    </Choices>
  );
}

function ImageCard({ view, form, offer }: CreatePageProps & { readonly offer: ImageOffer }) {
  const { image, here } = offer;
  return (
    <Card name="image" value={image.slug} checked={form.image === image.slug} disabled={!here}>
      <strong>{image.name}</strong>
      {here ? (
        <span class="mono">{image.slug}</span>
      ) : (
        <span class="why">{view.messages.create.imageNotHere}</span>
      )}
    </Card>
  );
}

export function PackageChoice({ view, catalog, form, problems }: CreatePageProps) {
  const { messages, format } = view;
  return (
    <Choices name="package" legend={messages.create.package} problems={problems.package}>
      <div class="cards" data-size="small">
        {packageOffers(catalog, form).map(({ package: offered, tooSmallFor, smallest }) => (
          <Card
            name="package"
            value={offered.slug}
            checked={form.package === offered.slug}
            disabled={tooSmallFor !== null}
          >
            <span class="card-size">{offered.slug.toUpperCase()}</span>
            <strong class="figures">{messages.create.vcpu(format.number(offered.vcpu))}</strong>
            <span class="figures">
              {format.memory(offered.memory_mb)} {messages.create.memory}
            </span>
            <span class="figures">
              {format.disk(offered.disk_gb)} {messages.create.disk}
            </span>
            {tooSmallFor === null ? null : (
              <span class="why">
                {messages.create.tooSmall(tooSmallFor.name, smallest?.toUpperCase() ?? "–")}
              </span>
            )}
          </Card>
        ))}
      </div>
      <button type="submit" name="intent" value="check" class="button without-script" formnovalidate>
        {messages.create.check}
      </button>
    </Choices>
  );
}
