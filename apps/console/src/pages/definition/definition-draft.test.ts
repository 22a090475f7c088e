import { aDefinition } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { bodyOf, draftOf, EMPTY_DRAFT, isComplete, nameFromFile } from './definition-draft.ts'

const before = {
  ...aDefinition({
    name: 'bgp',
    title: 'Old',
    license_affinity: ['CML_Enterprise'],
    boot_lead_minutes: 5,
    description: 'Two routers',
    cml_version: { min: '2.10', max: null },
  }),
  topology: 'lab: {}\n',
  graph: null,
  warnings: [],
  given: { title: true, needs: true, port_template: false, cml_min: false },
}

describe('a draft', () => {
  it('starts with the definition and sends only changes', () => {
    const draft = draftOf(before)
    expect(draft).toMatchObject({ name: 'bgp', from: 'text', topology: 'lab: {}\n', minutes: '60', reuse: false })
    const always = { max_duration_minutes: 60, lab_reuse: false, saves_enabled: true }
    expect(bodyOf({ ...draft, title: 'New ' }, before)).toEqual({ title: 'New', ...always })
    const topology = 'lab: {version: 0.3.0}\n'
    expect(bodyOf({ ...draft, topology }, before)).toEqual({ ...always, source: 'inline', topology })
  })

  it('has a lab fetched again only from another address', () => {
    const fetched = { ...before, source: 's3://b/x' }
    const draft = { ...draftOf(fetched), minutes: '90' }
    expect(bodyOf(draft, fetched)).toEqual({ max_duration_minutes: 90, lab_reuse: false, saves_enabled: true })
    expect(bodyOf({ ...draft, source: 's3://b/y' }, fetched)).toMatchObject({ source: 's3://b/y' })
  })

  it('leaves a derived title to the next topology', () => {
    expect(draftOf(before).title).toBe('Old')
    const derived = { ...before, given: { ...before.given, title: false } }
    expect(draftOf(derived).title).toBe('')
    expect(bodyOf(draftOf(derived), derived)).not.toHaveProperty('title')
  })

  it('names an address instead of a text', () => {
    const draft = { ...EMPTY_DRAFT, name: 'x', from: 'address', source: ' https://example.org/x.yaml' } as const
    expect(bodyOf(draft, null)).toEqual({
      title: '',
      source: 'https://example.org/x.yaml',
      max_duration_minutes: 60,
      lab_reuse: false,
      saves_enabled: true,
    })
    expect(draftOf({ ...before, source: 's3://b/x' })).toMatchObject({ from: 'address', source: 's3://b/x' })
  })

  it('is complete with a name, a number of minutes and a topology', () => {
    const whole = { ...EMPTY_DRAFT, name: 'x', topology: 'lab:' }
    expect(isComplete(whole)).toBe(true)
    for (const part of [{ name: '' }, { topology: ' \n' }, { minutes: 'soon' }, { from: 'address' as const }])
      expect(isComplete({ ...whole, ...part })).toBe(false)
  })
})

it.each([
  ['My Lab (2).yaml', 'my-lab-2'],
  ['bgp.yml', 'bgp'],
  ['---', ''],
])('%s suggests the name %j', (file, name) => expect(nameFromFile(file)).toBe(name))
