import type { ComponentChildren } from 'preact'

/** Scrolls content that doesn't fit, by keyboard too. */
export const ScrollBox = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll it.
  <section class="scroll-box" tabIndex={0} aria-label={label}>
    {children}
  </section>
)
