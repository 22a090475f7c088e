/** Least width of a label, as a share of a timeline. */
const LABEL_SHARE = 1 / 7

export type LabelSide = 'inside' | 'before' | 'after'

export interface LabeledBar {
  /** Space of the bar with its label, as shares of the timeline. */
  readonly from: number
  readonly to: number
  readonly labelSide: LabelSide
}

/** A bar that is too narrow for its label has it beside itself: after it, or before it at the end of the timeline. */
export function labeledBar(left: number, width: number): LabeledBar {
  const right = left + width
  if (width >= LABEL_SHARE) return { from: left, to: right, labelSide: 'inside' }
  return right + LABEL_SHARE > 1
    ? { from: left - LABEL_SHARE, to: right, labelSide: 'before' }
    : { from: left, to: right + LABEL_SHARE, labelSide: 'after' }
}

interface PlacedBar {
  readonly lane: number
  readonly left: number
  readonly width: number
  readonly labelSide: LabelSide
}

export interface LabelSpace {
  /** Free space for a label beside its bar, as a share of the timeline: a long name needs more than the least width. */
  readonly labelSpace: number
}

/** Expects the bars of each lane from left to right. */
export function withLabelSpace<B extends PlacedBar>(bars: readonly B[]): (B & LabelSpace)[] {
  const rightOf = ({ left, width }: B) => left + width
  const spaces = bars.map(bar => (bar.labelSide === 'before' ? bar.left : 1 - rightOf(bar)))
  const lastInLane: number[] = []
  for (const [index, bar] of bars.entries()) {
    const before = lastInLane[bar.lane]
    lastInLane[bar.lane] = index
    const previous = before === undefined ? undefined : bars[before]
    if (before === undefined || previous === undefined) continue
    const gap = bar.left - rightOf(previous)
    if (previous.labelSide === 'after') spaces[before] = gap - (bar.labelSide === 'before' ? LABEL_SHARE : 0)
    if (bar.labelSide === 'before') spaces[index] = gap - (previous.labelSide === 'after' ? LABEL_SHARE : 0)
  }
  return bars.map((bar, index) => ({ ...bar, labelSpace: spaces[index] ?? 0 }))
}
