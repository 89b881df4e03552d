/*
 * Layout and accessibility defects of the page as it is shown, found by measuring. Tests run this inside a browser; no
 * page loads it. Each defect is a line that names the element.
 */

/** WCAG 2.2, 2.5.8: minimum size of a target, or of the free space around its centre. */
const smallestTarget = 24;
const targets = "a[href], button, input:not([type=hidden]), select, textarea, summary, label:has(> input)";
const focusable =
  "a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, textarea:enabled, summary, [tabindex='0']";

/** Horizontal scrolling, clipped text, text outside its box or over other text, small targets, duplicate ids. */
function layoutFlaws(): string[] {
  const lines = linesOfText();
  return [
    ...sideways(),
    ...cutOff(),
    ...cutPlaceholders(),
    ...escaping(lines),
    ...overlapping(lines),
    ...tooSmall(),
    ...sameIds(),
  ];
}

/** What opens over the page must be wholly on the screen. */
function popupFlaws(): string[] {
  const flaws: string[] = [];
  for (const details of document.querySelectorAll<HTMLDetailsElement>("details:not([open])")) {
    if (!isSeen(details)) continue;
    details.open = true;
    for (const inner of details.querySelectorAll("*")) {
      const { left, right, width } = inner.getBoundingClientRect();
      if (width === 0 || !isSeen(inner) || scrollsAround(inner)) continue;
      if (left < -1 || right > document.documentElement.clientWidth + 1)
        flaws.push(`opens beside the screen (${Math.round(left)} to ${Math.round(right)}): ${nameOf(inner)}`);
    }
    flaws.push(...sideways().map((flaw) => `with ${nameOf(details)} open: ${flaw}`));
    details.open = false;
  }
  return flaws;
}

/** The focused control must be visible: a focus ring that nothing covers (WCAG 2.4.7 and 2.4.11). */
function focusFlaws(): string[] {
  const flaws: string[] = [];
  (document.activeElement as HTMLElement | null)?.blur();
  for (const element of document.querySelectorAll<HTMLElement>(focusable)) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const own = ringOf(element);
    focusOn(element);
    if (document.activeElement !== element) continue;
    // Browsers also scroll to it, with a delay.
    element.scrollIntoView({ block: "nearest" });
    if (ringOf(element) === own && !hasRingAround(element))
      flaws.push(`focus is not seen: ${nameOf(element)}`);
    const cover = coverOf(element);
    if (cover !== null) flaws.push(`focus lies under ${nameOf(cover)}: ${nameOf(element)}`);
    element.blur();
  }
  scrollTo(0, 0);
  return flaws;
}

function focusOn(element: HTMLElement): void {
  element.focus({ focusVisible: true } as FocusOptions);
}

/** The ring may be drawn around an element that represents a hidden checkbox, or within a drawing. */
function hasRingAround(element: HTMLElement): boolean {
  const around = [
    element.parentElement,
    element.nextElementSibling,
    ...element.children,
    element.closest("label"),
    element.closest("fieldset"),
  ];
  const look = () => around.map((each) => (each === null ? "" : ringOf(each))).join();
  const focused = look();
  element.blur();
  const before = look();
  focusOn(element);
  return focused !== before;
}

/** All text that a person reads or hears. */
function textsOfPage(): string[] {
  const said = [...document.querySelectorAll("[placeholder], [title], [aria-label]")].flatMap((element) =>
    ["placeholder", "title", "aria-label"].map((name) => element.getAttribute(name) ?? ""),
  );
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node.parentElement?.closest("script, style, code, pre") === null) said.push(node.textContent ?? "");
  return [document.title, ...said].map((text) => text.replaceAll(/\s+/g, " ").trim()).filter(Boolean);
}

function ringOf(element: Element): string {
  const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, stroke, transform } =
    getComputedStyle(element);
  return [
    outlineStyle,
    outlineStyle === "none" ? "" : `${outlineWidth} ${outlineColor}`,
    boxShadow,
    borderColor,
    stroke,
    transform,
  ].join("|");
}

/** The fixed element that covers the middle of an element, if any. */
function coverOf(element: HTMLElement): Element | null {
  const { left, top, width, height } = element.getBoundingClientRect();
  const over = document.elementFromPoint(left + width / 2, top + height / 2);
  if (over === null || over.contains(element) || element.contains(over)) return null;
  for (let each: Element | null = over; each !== null; each = each.parentElement)
    if (["fixed", "sticky"].includes(getComputedStyle(each).position))
      return each.contains(element) ? null : each;
  return null;
}

function sideways(): string[] {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const widest = [...document.body.querySelectorAll("*")].filter(
    (element) =>
      isSeen(element) && !scrollsAround(element) && element.getBoundingClientRect().right > clientWidth + 1,
  );
  return [`scrolls sideways (${scrollWidth} of ${clientWidth}): ${widest.slice(-2).map(nameOf).join(", ")}`];
}

function cutOff(): string[] {
  return [...document.body.querySelectorAll<HTMLElement>("*")].flatMap((element) => {
    if (element.matches("input, textarea, select, svg, svg *, html, body") || !isSeen(element)) return [];
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
    const hides = (overflow: string) => overflow === "hidden" || overflow === "clip";
    const across = hides(overflowX) && element.scrollWidth > element.clientWidth + 1;
    const down = hides(overflowY) && element.scrollHeight > element.clientHeight + 2;
    if (!(across || down) || element.clientWidth <= 1 || element.textContent === "") return [];
    // Text that is cut with an ellipsis, with the full text in its title.
    if (across && !down && textOverflow === "ellipsis" && element.closest("[title]") !== null) return [];
    return [`cut off: ${nameOf(element)}`];
  });
}

function cutPlaceholders(): string[] {
  const pen = document.createElement("canvas").getContext("2d");
  if (pen === null) return [];
  return [...document.querySelectorAll<HTMLInputElement>("input[placeholder]")].flatMap((input) => {
    if (!isSeen(input)) return [];
    const { font, paddingLeft, paddingRight } = getComputedStyle(input);
    pen.font = font;
    const room = input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    const wanted = pen.measureText(input.placeholder).width;
    return wanted > room + 1
      ? [`placeholder cut off (${Math.round(wanted)} of ${Math.round(room)}): ${nameOf(input)}`]
      : [];
  });
}

type Line = { readonly element: Element; readonly text: string; readonly box: DOMRect };

function linesOfText(): Line[] {
  const lines: Line[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim() ?? "";
    if (
      element === null ||
      text === "" ||
      element.closest("option, script, style") !== null ||
      !isSeen(element)
    )
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const whole of range.getClientRects()) {
      const box = withoutCut(element, whole);
      if (box.width > 1 && box.height > 1) lines.push({ element, text, box });
    }
  }
  return lines;
}

/** The part of a line that is seen: an ellipsis takes the place of the rest. */
function withoutCut(element: HTMLElement, line: DOMRect): DOMRect {
  if (getComputedStyle(element).textOverflow !== "ellipsis") return line;
  const right = Math.min(line.right, element.getBoundingClientRect().right);
  return new DOMRect(line.left, line.top, Math.max(0, right - line.left), line.height);
}

/** Text beyond the edge of the screen, or of the bordered box that contains it. */
function escaping(lines: readonly Line[]): string[] {
  return lines.flatMap(({ element, text, box }) => {
    if (element.closest("svg") !== null || scrollsAround(element) || isPinned(element)) return [];
    if (box.right > document.documentElement.clientWidth + 1 || box.left < -1)
      return [`text beside the screen: "${text.slice(0, 40)}" in ${nameOf(element)}`];
    for (let each: Element | null = element; each !== null; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.position === "absolute") return [];
      if (Number.parseFloat(style.borderRightWidth) === 0 || style.display === "inline") continue;
      if (box.right > each.getBoundingClientRect().right + 1)
        return [`text runs out of ${nameOf(each)}: "${text.slice(0, 40)}"`];
    }
    return [];
  });
}

function overlapping(lines: readonly Line[]): string[] {
  const flat = lines.filter(({ element }) => !isPinned(element) && !isLifted(element));
  const flaws: string[] = [];
  for (const [index, one] of flat.entries())
    for (const other of flat.slice(index + 1)) {
      if (one.element === other.element) continue;
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      // Lines of inline text overlap by their line height.
      if (across > 2 && down > Math.min(one.box.height, other.box.height) * 0.35)
        flaws.push(
          `"${one.text.slice(0, 30)}" and "${other.text.slice(0, 30)}" overlap in ${nameOf(other.element)}`,
        );
    }
  return flaws;
}

function tooSmall(): string[] {
  const boxes = [...document.querySelectorAll<HTMLElement>(targets)]
    .filter((element) => isSeen(element) && !isInSentence(element))
    .map((element) => ({ element, box: targetBox(element) }));
  return boxes.flatMap(({ element, box }) => {
    if (box.width >= smallestTarget && box.height >= smallestTarget) return [];
    if (box.width === 0 || box.height === 0) return [];
    const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    const crowd = boxes.find(
      (other) =>
        other.element !== element &&
        // An overlay that is visible only for a moment is scrolled away from.
        isPinned(other.element) === isPinned(element) &&
        !other.element.contains(element) &&
        !element.contains(other.element) &&
        distance(middle, other.box) < smallestTarget / 2,
    );
    return crowd === undefined
      ? []
      : [
          `target of ${Math.round(box.width)} × ${Math.round(box.height)} px beside ${nameOf(crowd.element)}: ${nameOf(element)}`,
        ];
  });
}

/** Duplicate ids: a label, a hint or a link that refers to such an id refers to the wrong element. */
function sameIds(): string[] {
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  return ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `several elements have the id ${id}`);
}

/** A checkbox with a label has the combined size of both. */
function targetBox(element: HTMLElement): DOMRect {
  const own = element.getBoundingClientRect();
  const label = element.matches("input") ? (element as HTMLInputElement).labels?.[0] : undefined;
  if (label === undefined) return own;
  const box = label.getBoundingClientRect();
  const left = Math.min(own.left, box.left);
  const top = Math.min(own.top, box.top);
  return new DOMRect(
    left,
    top,
    Math.max(own.right, box.right) - left,
    Math.max(own.bottom, box.bottom) - top,
  );
}

function distance({ x, y }: { readonly x: number; readonly y: number }, box: DOMRect): number {
  const across = Math.max(box.left - x, 0, x - box.right);
  const down = Math.max(box.top - y, 0, y - box.bottom);
  return Math.hypot(across, down);
}

/** A link within a sentence is as high as its line. */
function isInSentence(element: HTMLElement): boolean {
  if (getComputedStyle(element).display !== "inline") return false;
  const around = element.parentElement?.closest("p, li, dd, td, th, label, small, span") ?? null;
  return around !== null && (around.textContent ?? "").trim() !== (element.textContent ?? "").trim();
}

function isSeen(element: Element): boolean {
  if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  for (let each: Element | null = element; each !== null; each = each.parentElement)
    if (getComputedStyle(each).clipPath === "inset(50%)") return false;
  return element.closest("dialog:not([open])") === null;
}

function scrollsAround(element: Element): boolean {
  for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
  return false;
}

function isPinned(element: Element): boolean {
  for (let each: Element | null = element; each !== null; each = each.parentElement)
    if (["fixed", "sticky"].includes(getComputedStyle(each).position)) return true;
  return false;
}

/** Elements that cover the page on purpose while they are open. */
function isLifted(element: Element): boolean {
  for (let each: Element | null = element; each !== null; each = each.parentElement) {
    const { position, zIndex } = getComputedStyle(each);
    if (position === "absolute" && zIndex !== "auto") return true;
  }
  return false;
}

function nameOf(element: Element): string {
  const id = element.id === "" ? "" : `#${element.id}`;
  const classes = [...element.classList].map((name) => `.${name}`).join("");
  const within = element.parentElement?.closest("[class], [id]");
  const place =
    within === null || within === undefined || id !== ""
      ? ""
      : ` in ${within.tagName.toLowerCase()}${[...within.classList].map((name) => `.${name}`).join("")}`;
  const text = (element.textContent ?? "").replaceAll(/\s+/g, " ").trim().slice(0, 40);
  return `${element.tagName.toLowerCase()}${id}${classes}${place}${text === "" ? "" : ` "${text}"`}`;
}

// The name by which the tests call it.
Object.assign(globalThis, { pageFlaws: { layoutFlaws, popupFlaws, focusFlaws, textsOfPage } });
