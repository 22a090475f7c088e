import { describe, expect, it } from 'vitest'
import { renderSchedule } from './render-schedule.ts'

function aBrowser() {
  const listeners = new Map<string, () => void>()
  const frames: (() => void)[] = []
  return {
    addEventListener: (type: string, listener: () => void) => listeners.set(type, listener),
    requestAnimationFrame: (callback: () => void) => frames.push(callback),
    fire: (type: string) => listeners.get(type)?.(),
    frame: () => {
      for (const callback of frames.splice(0)) callback()
    },
  }
}

describe('the render schedule', () => {
  it('renders reported changes in the next frame', () => {
    const browser = aBrowser()
    const rendered: string[] = []
    renderSchedule(browser)(() => rendered.push('page'))
    expect(rendered).toEqual([])
    browser.frame()
    expect(rendered).toEqual(['page'])
  })

  it.each(['click', 'keydown', 'input', 'hashchange'])('renders at once after %s, and not again in the frame', type => {
    const browser = aBrowser()
    const rendered: string[] = []
    renderSchedule(browser)(() => rendered.push('page'))
    browser.fire(type)
    expect(rendered).toEqual(['page'])
    browser.frame()
    expect(rendered).toEqual(['page'])
  })
})
