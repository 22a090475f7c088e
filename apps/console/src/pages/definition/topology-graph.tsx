import type { LabGraph } from '@lcm/contract/definition'
import { countText } from '@lcm/domain/text/format-amounts'
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { cut, type Drawing, type DrawnLink, type DrawnNode, drawingOf, pathOf } from './graph-layout.ts'
import { fitted, moved, type Size, type View, viewByKey, ZOOM_STEP, zoomed } from './graph-viewport.ts'

/** Graph of the lab that can be moved and zoomed. The card below has the same as a list. */
export function TopologyGraph({ graph }: { graph: LabGraph }) {
  const drawing = useMemo(() => drawingOf(graph), [graph])
  const box = useRef<HTMLDivElement>(null)
  const size = useSignal<Size>({ width: 0, height: 0 })
  const chosen = useSignal<View | null>(null)
  const isMeasured = size.value.width > 0
  const fit = fitted(drawing, size.value)
  const view = chosen.value ?? fit
  useBoxSize(box, size)
  useWheel(box, (factor, at) => {
    chosen.value = zoomed(chosen.value ?? fit, factor, at, fit.scale)
  })
  const press = (key: string): boolean => {
    const next = viewByKey(key, view, size.value, fit)
    if (next !== null) chosen.value = next === fit ? null : next
    return next !== null
  }
  return (
    <figure class="topology">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has another layout. */}
      <div
        ref={box}
        class="topology-box"
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to move it.
        tabIndex={0}
        aria-label="Topology. Use the arrow keys to move, plus and minus to zoom, 0 to fit"
        onKeyDown={event => {
          if (!event.ctrlKey && !event.metaKey && press(event.key)) event.preventDefault()
        }}
        onPointerDown={event => drag(event, view, chosen)}
      >
        <svg role="img" aria-label={sumOf(graph)} width="100%" height="100%">
          {isMeasured && <Drawn drawing={drawing} view={view} />}
        </svg>
      </div>
      <ZoomButtons press={press} />
    </figure>
  )
}

const Drawn = ({ drawing, view }: { drawing: Drawing; view: View }) => (
  <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
    {drawing.links.map(link => (
      <LinkLine key={link.key} link={link} />
    ))}
    {drawing.nodes.map(node => (
      <NodeBox key={node.id} node={node} />
    ))}
  </g>
)

export const sumOf = ({ nodes, links }: LabGraph): string =>
  `${countText(nodes.length, 'node')}, ${countText(links.length, 'link')}`

const ZoomButtons = ({ press }: { press: (key: string) => void }) => (
  <div class="topology-tools">
    <button type="button" class="button small" onClick={() => press('-')}>
      <span aria-hidden="true">−</span>
      <span class="sr-only">Zoom out</span>
    </button>
    <button type="button" class="button small" onClick={() => press('+')}>
      <span aria-hidden="true">+</span>
      <span class="sr-only">Zoom in</span>
    </button>
    <button type="button" class="button small" onClick={() => press('0')}>
      Fit
    </button>
  </div>
)

const LinkLine = ({ link: { points, label } }: { link: DrawnLink }) => (
  <path class="topology-link" d={pathOf(points)}>
    {label !== '' && <title>{label}</title>}
  </path>
)

const NodeBox = ({ node: { x, y, width, height, label, node_definition } }: { node: DrawnNode }) => (
  <g class="topology-node" transform={`translate(${x} ${y})`}>
    <title>{`${label} (${node_definition})`}</title>
    <rect x={-width / 2} y={-height / 2} width={width} height={height} rx="8" />
    <text y="-4">{cut(label)}</text>
    <text y="13" class="topology-kind">
      {cut(node_definition)}
    </text>
  </g>
)

function useBoxSize(box: { readonly current: HTMLElement | null }, size: Signal<Size>): void {
  useEffect(() => {
    const shown = box.current
    if (shown === null) return
    const watcher = new ResizeObserver(() => {
      size.value = { width: shown.clientWidth, height: shown.clientHeight }
    })
    watcher.observe(shown)
    return () => watcher.disconnect()
  }, [box, size])
}

type OnZoom = (factor: number, at: { x: number; y: number }) => void

/** Zooms only when the graph has the focus or with Ctrl, so that the wheel still scrolls the page. */
function useWheel(box: { readonly current: HTMLElement | null }, onZoom: OnZoom): void {
  const newest = useRef(onZoom)
  newest.current = onZoom
  useEffect(() => {
    const shown = box.current
    const onWheel = (event: WheelEvent) => {
      if (shown === null || (document.activeElement !== shown && !event.ctrlKey)) return
      event.preventDefault()
      const { left, top } = shown.getBoundingClientRect()
      const factor = event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP
      newest.current(factor, { x: event.clientX - left, y: event.clientY - top })
    }
    shown?.addEventListener('wheel', onWheel, { passive: false })
    return () => shown?.removeEventListener('wheel', onWheel)
  }, [box])
}

function drag(event: PointerEvent & { currentTarget: HTMLElement }, from: View, chosen: Signal<View | null>): void {
  const box = event.currentTarget
  const { pointerId, clientX, clientY } = event
  const move = (next: PointerEvent) => {
    if (next.pointerId === pointerId)
      chosen.value = moved(from, { x: next.clientX - clientX, y: next.clientY - clientY })
  }
  const end = () => {
    box.removeEventListener('pointermove', move)
    box.removeEventListener('pointerup', end)
    box.removeEventListener('pointercancel', end)
  }
  box.setPointerCapture(pointerId)
  box.addEventListener('pointermove', move)
  box.addEventListener('pointerup', end)
  box.addEventListener('pointercancel', end)
}
