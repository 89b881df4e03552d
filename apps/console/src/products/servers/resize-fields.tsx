import { Problem } from "../../layout/fields.tsx";
import type { ResizePageProps } from "./props.ts";

export function Sizes({ view, server, catalog, form, problems }: ResizePageProps) {
  const { messages, format } = view;
  const image = catalog.images.find(({ slug }) => slug === server.image.slug);
  return (
    <fieldset class="choice" data-invalid={problems.package === undefined ? undefined : "true"}>
      <legend>{messages.create.package}</legend>
      <Problem name="package" problems={problems.package} />
      <div class="cards" data-size="small">
        {catalog.packages.map((offered) => {
          const isNow = offered.slug === server.package.slug;
          const fits = isNow || image === undefined || image.packages_allowed.includes(offered.slug);
          return (
            <label class="card">
              <input
                type="radio"
                id={`package-${offered.slug}`}
                name="package"
                value={offered.slug}
                checked={offered.slug === form.package}
                disabled={!fits}
              />
              <span class="card-face">
                <span class="card-size">
                  {offered.slug.toUpperCase()}
                  {isNow ? <span class="tag">{messages.resize.now}</span> : null}
                </span>
                <strong class="figures">{messages.create.vcpu(format.number(offered.vcpu))}</strong>
                <span class="figures">
                  {format.memory(offered.memory_mb)} {messages.create.memory}
                </span>
                <span class="figures">
                  {format.disk(offered.disk_gb)} {messages.create.disk}
                </span>
                {fits || image === undefined ? null : (
                  <span class="why">
                    {messages.create.tooSmall(image.name, format.number(image.min_memory_mb / 1024))}
                  </span>
                )}
              </span>
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}

/** A disk only grows, so growing it cannot be undone. */
export function DiskChoice({ view, server, form, plan }: ResizePageProps) {
  const { messages, format } = view;
  const texts = messages.resize;
  const now = format.disk(server.disk_gb);
  if (plan === null) return null;
  return (
    <fieldset class="choice" id="disk-choice">
      <legend>{messages.usage.disk}</legend>
      {plan.canGrow ? (
        <div class="checks">
          <label class="check">
            <input type="radio" id="disk-grow" name="disk" value="grow" checked={!form.keepDisk} />
            <span>
              {texts.diskGrows(format.disk(plan.wanted.disk_gb))}
              <small>{texts.diskGrowsHint}</small>
            </span>
          </label>
          <label class="check">
            <input type="radio" id="disk-keep" name="disk" value="keep" checked={form.keepDisk} />
            <span>
              {texts.diskStays(now)}
              <small>{texts.diskStaysHint}</small>
            </span>
          </label>
        </div>
      ) : (
        <p class="hint">{plan.keepsLarger ? texts.diskKeptLarger(now) : texts.diskSame(now)}</p>
      )}
    </fieldset>
  );
}
