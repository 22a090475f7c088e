/** Width of a label, as a share of a timeline. */
const LABEL_SHARE = 1 / 7

export interface LabeledBar {
  /** Space of the bar with its label, as shares of the timeline. */
  readonly from: number
  readonly to: number
  /** Whether the label stands before the bar, because there is no space after it. */
  readonly isBefore: boolean
}

/** A bar that is too narrow for its label has it beside itself. */
export function labeledBar(left: number, width: number): LabeledBar {
  const right = left + width
  if (width >= LABEL_SHARE) return { from: left, to: right, isBefore: false }
  const isBefore = right + LABEL_SHARE > 1
  return isBefore
    ? { from: left - LABEL_SHARE, to: right, isBefore }
    : { from: left, to: right + LABEL_SHARE, isBefore }
}
