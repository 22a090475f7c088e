import type { ComponentChildren } from 'preact'

/** A line of a list of facts. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children ?? <span class="muted">none</span>}</dd>
  </div>
)
