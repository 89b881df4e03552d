import { Problem } from "../../layout/fields.tsx";
import { When } from "../../layout/parts.tsx";
import { otherVm } from "./import-values.ts";
import type { ImportPageProps } from "./props.ts";

/** The choice of the VM: one that the agent has found, or any number of the region. */
export function Machine({ view, form, regions, foreign, problems }: ImportPageProps) {
  const text = view.messages.serverImport;
  const region = regions.find(({ slug }) => slug === form.region);
  const range = region === undefined ? "–" : `${region.vmid_range.first}–${region.vmid_range.last}`;
  const typed = foreign.length === 0 || form.vmid === otherVm;
  return (
    <section class="panel">
      <fieldset
        class="choice"
        data-invalid={problems.vmid === undefined ? undefined : "true"}
        aria-describedby={problems.vmid === undefined ? "vmid-hint" : "vmid-problem vmid-hint"}
      >
        <legend>{text.vm}</legend>
        <Problem name="vmid" problems={problems.vmid} />
        {foreign.length === 0 ? (
          <div class="hint" id="vmid-hint">
            <strong>{text.noneFound}.</strong> {text.noneFoundHint(range)}
          </div>
        ) : (
          <p class="hint" id="vmid-hint">
            {text.vmHint}
          </p>
        )}
        <div class="checks">
          {foreign.map((vm) => (
            <label class="check">
              <input type="radio" name="vmid" value={vm.vmid} checked={form.vmid === String(vm.vmid)} />
              <span>
                <span>
                  <strong class="figures">{vm.vmid}</strong> <span class="mono">{vm.vm_name}</span>
                </span>
                <small>
                  {vm.node} · <When view={view} time={vm.first_seen_at} />
                </small>
              </span>
            </label>
          ))}
          <div class="check">
            <input type="radio" id="vmid-other" name="vmid" value={otherVm} checked={typed} />
            <div class="field">
              <label for="vmid-other">{text.other}</label>
              <input
                type="text"
                name="other_vmid"
                class="mono"
                inputmode="numeric"
                maxlength={9}
                autocomplete="off"
                value={form.otherVmid}
                aria-label={text.other}
                aria-describedby="other-hint"
              />
              <p class="hint" id="other-hint">
                {text.otherHint(range)}
              </p>
            </div>
          </div>
        </div>
      </fieldset>
    </section>
  );
}
