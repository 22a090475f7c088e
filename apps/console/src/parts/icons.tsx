import type { Status } from '@lcm/domain/text/status-tone'
import type { ComponentChildren } from 'preact'
import { type StatusShape, shapeOf } from '../state/status-icon-shape.ts'

/** Icons always stand beside text, so they are hidden from screen readers. */
function Icon({ motion = '', children }: { motion?: string; children: ComponentChildren }) {
  return (
    <svg class={`icon ${motion}`} viewBox="0 0 16 16" aria-hidden="true">
      {children}
    </svg>
  )
}

/** Creates a new element each time: a shared one would keep the page of its first use in memory. */
type Draw = () => ComponentChildren

const ring = () => <circle cx="8" cy="8" r="5.75" />

const STATUS_SHAPES: Readonly<Record<StatusShape, Draw>> = {
  ring,
  'dashed-ring': () => <circle cx="8" cy="8" r="5.75" stroke-dasharray="2.2 2.4" />,
  quarter: () => (
    <>
      {ring()}
      <path class="solid" d="M8 8V3.5A4.5 4.5 0 0 1 12.5 8Z" />
    </>
  ),
  play: () => (
    <>
      {ring()}
      <path class="solid" d="M6.5 5.4v5.2L11 8Z" />
    </>
  ),
  done: () => (
    <>
      <circle class="solid" cx="8" cy="8" r="6.5" />
      <path class="cut" d="m5.2 8.2 2 2 3.7-4.1" />
    </>
  ),
  down: () => (
    <>
      {ring()}
      <path d="M8 4.8v6M5.4 8.4 8 11l2.6-2.6" />
    </>
  ),
  'dashed-square': () => <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" stroke-dasharray="2.4 2" />,
  square: () => <rect class="solid" x="3.5" y="3.5" width="9" height="9" rx="1.5" />,
  'crossed-ring': () => (
    <>
      {ring()}
      <path d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2" />
    </>
  ),
  cross: () => <path d="m4 4 8 8m0-8-8 8" />,
  alarm: () => (
    <>
      <path class="solid" d="M8 1.8 15 14H1Z" />
      <path class="cut" d="M8 6.3v3.4m0 1.9v.2" />
    </>
  ),
  warning: () => (
    <>
      <path d="M8 2.600 14 13.200H2Z" />
      <path d="M8 6.600v3m0 1.700v.2" />
    </>
  ),
  question: () => (
    <>
      {ring()}
      <path d="M6.2 6.4C6.3 5.3 7 4.8 8 4.8s1.8.6 1.8 1.5C9.800 7.500 8 7.600 8 9m0 2.100v.2" />
    </>
  ),
}

/** For states that are not a resource status. */
export const ShapeIcon = ({ shape }: { shape: StatusShape }) => <Icon>{STATUS_SHAPES[shape]()}</Icon>

export const StatusIcon = ({ status }: { status: Status }) => <Icon>{STATUS_SHAPES[shapeOf(status)]()}</Icon>

const SHAPES = {
  arrow: () => <path d="M2.500 8h11M9.500 4l4 4-4 4" />,
  check: () => <path d="m3 8.500 3.200 3.200L13 5" />,
  close: () => <path d="m4 4 8 8m0-8-8 8" />,
  copy: () => <path d="M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3" />,
  leave: () => <path d="M9.500 2.500h-7v11h7M6.500 8h7.500M11 5l3 3-3 3" />,
  lock: () => <path d="M3.500 7.500h9v6h-9zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500" />,
  more: () => <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.4" />,
  plus: () => <path d="M8 3v10M3 8h10" />,
  search: () => <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.600-1.400L14 14" />,
  up: () => <path d="M8 13V3.5M4.2 7.200 8 3.400l3.800 3.800" />,
  down: () => <path d="M8 3v9.500M4.200 8.800 8 12.600l3.800-3.800" />,
  system: () => <path d="M2 3h12v8H2zM5.500 14h5M8 11v3" />,
  light: () => (
    <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
  ),
  dark: () => <path d="M13.500 9.800A6 6 0 0 1 6.200 2.500a6 6 0 1 0 7.300 7.300Z" />,
  live: () => <circle class="solid" cx="8" cy="8" r="4" />,
  waiting: () => <path d="M8 2.500A5.500 5.500 0 1 1 2.500 8" />,
  offline: () => (
    <path d="M8 13.500v.1M5 10.500a4.300 4.300 0 0 1 6 0M2.500 7.500A8 8 0 0 1 8 5.300M2.500 2.500l11 11" />
  ),
  polling: () => (
    <path d="M13.500 8A5.500 5.500 0 0 1 3.600 11.300M2.500 8a5.500 5.500 0 0 1 9.900-3.300M12.500 2v3h-3M3.500 14v-3h3" />
  ),
  key: () => <path d="M6 12a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7Zm3.300-4.500H14.500V10M12 7.500V9.500" />,
  flask: () => <path d="M6 2h4M6.800 2v4L3 13.200c-.3.600.1 1.300.8 1.300h8.400c.7 0 1.100-.7.8-1.300L9.200 6V2" />,
} as const satisfies Record<string, Draw>

export type IconName = keyof typeof SHAPES
const MOTIONS: Readonly<Partial<Record<IconName, string>>> = { live: 'pulse', waiting: 'spin' }
export const NamedIcon = ({ name }: { name: IconName }) => <Icon motion={MOTIONS[name] ?? ''}>{SHAPES[name]()}</Icon>
