import type { ComponentChildren } from 'preact'

/** One row of a description list. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children ?? <span class="muted">none</span>}</dd>
  </div>
)
