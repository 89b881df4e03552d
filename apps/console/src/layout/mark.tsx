/** Kule's logo: the tower, its cone in the second colour. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg
      class="mark"
      viewBox="5 0 22 32"
      width={size * 0.7}
      height={size}
      aria-hidden="true"
      focusable="false"
    >
      <path class="mark-roof" d="M16 1.5 23.2 11H8.8z" />
      <path class="mark-stone" d="M7.2 12.4h17.6v3H7.2z" />
      <path
        class="mark-stone"
        d="M9.2 16.8h13.6v13.7h-4.3v-4.2a2.5 2.5 0 0 0-5 0v4.2H9.2zm3.1 2.4v2.7h1.6v-2.7zm5.8 0v2.7h1.6v-2.7z"
        fill-rule="evenodd"
      />
    </svg>
  );
}
