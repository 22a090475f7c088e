import type { ComponentChildren } from 'preact'

/** What is too wide or too long for its place scrolls in a box of its own, by the keyboard too. */
export const ScrollBox = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without it nobody could scroll it by the keyboard.
  <section class="scroll-box" tabIndex={0} aria-label={label}>
    {children}
  </section>
)
