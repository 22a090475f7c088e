import type { Point } from './graph-layout.ts'

/** Visible part of the drawing: a point is scaled by `scale`, then moved by x and y. */
export interface View extends Point {
  readonly scale: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

export const SCALE_MAX = 3
/** A small lab is enlarged only slightly. */
const SCALE_FIT_MAX = 1.15
const SCALE_MIN_SHARE = 0.5
const GAP_PX = 12

export const KEY_STEP_PX = 48
export const ZOOM_STEP = 1.25

/** Fits the whole drawing into the middle of the box. */
export function fitted(drawing: Size, box: Size): View {
  const area = { width: box.width - 2 * GAP_PX, height: box.height - 2 * GAP_PX }
  const scale = Math.min(SCALE_FIT_MAX, area.width / drawing.width, area.height / drawing.height)
  const shown = scale > 0 && Number.isFinite(scale) ? scale : 1
  return {
    scale: shown,
    x: (box.width - drawing.width * shown) / 2,
    y: (box.height - drawing.height * shown) / 2,
  }
}

/** Zooms around a fixed point. */
export function zoomed(view: View, factor: number, at: Point, smallest: number): View {
  const scale = Math.min(SCALE_MAX, Math.max(smallest * SCALE_MIN_SHARE, view.scale * factor))
  const real = scale / view.scale
  return { scale, x: at.x - (at.x - view.x) * real, y: at.y - (at.y - view.y) * real }
}

export const moved = (view: View, { x, y }: Point): View => ({ ...view, x: view.x + x, y: view.y + y })

/** View after a key press; null for keys without a function. */
export function viewByKey(key: string, view: View, box: Size, fit: View): View | null {
  const middle = { x: box.width / 2, y: box.height / 2 }
  switch (key) {
    case 'ArrowLeft':
      return moved(view, { x: KEY_STEP_PX, y: 0 })
    case 'ArrowRight':
      return moved(view, { x: -KEY_STEP_PX, y: 0 })
    case 'ArrowUp':
      return moved(view, { x: 0, y: KEY_STEP_PX })
    case 'ArrowDown':
      return moved(view, { x: 0, y: -KEY_STEP_PX })
    case '+':
    case '=':
      return zoomed(view, ZOOM_STEP, middle, fit.scale)
    case '-':
      return zoomed(view, 1 / ZOOM_STEP, middle, fit.scale)
    case '0':
      return fit
    default:
      return null
  }
}
