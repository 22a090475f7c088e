import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { planOf } from '../acts/plan.ts'
import { parseCommand, UsageError } from './options.ts'
import { readPlan } from './plan-file.ts'

const MUTANTS = ['no fencing', 'skip as done']
const parse = (...args: string[]) => parseCommand(args, MUTANTS)
const brisk = { workers: 3, hours: 0.5, pace: 'brisk' }

describe('what is asked of the simulation', () => {
  it.each([
    [['--seed', '7'], { what: 'runs', from: 7, count: 1, size: brisk }],
    [['--runs', '5'], { what: 'runs', from: 1, count: 5, size: brisk }],
    [
      ['--runs', '5', '--from', '9', '--hours', '2.5'],
      { what: 'runs', from: 9, count: 5, size: { workers: 10, hours: 2.5, pace: 'long' } },
    ],
    [
      ['--seed', '1', '--workers', '4'],
      { what: 'runs', from: 1, count: 1, size: { workers: 4, hours: 6, pace: 'long' } },
    ],
    [['--replay', 'a.json'], { what: 'replay', file: 'a.json' }],
    [['--mutants'], { what: 'mutants', names: [] }],
    [['--mutants', 'no fencing'], { what: 'mutants', names: ['no fencing'] }],
    [['--crashes', '2'], { what: 'crashes', from: 1, count: 2 }],
    [['--crashes', '2', '--from', '4'], { what: 'crashes', from: 4, count: 2 }],
  ])('%j is understood', (args, expected) => expect(parse(...args)).toEqual(expected))

  it.each([
    [[], 'choose one of --seed, --runs, --replay, --mutants, --crashes.'],
    [['--seed', 'abc'], '--seed takes a whole number from 0, and not "abc".'],
    [['--seed', '1.5'], '--seed takes a whole number from 0, and not "1.5".'],
    [['--seed', '9'.repeat(20)], '--seed takes a whole number'],
    [['--seed', '1', '--hours', '-1'], '--hours takes a number above 0, and not "-1".'],
    [['--seed', '1', '--hours', '0'], '--hours takes a number above 0, and not "0".'],
    [['--seed', '1', '--hours', 'Infinity'], '--hours takes a number above 0'],
    [['--seed', '1', '--hours', '9'.repeat(400)], '--hours takes a number above 0'],
    [['--seed', '1', '--workers', '0'], '--workers takes a whole number from 1, and not "0".'],
    [['--runs', '0'], '--runs takes a whole number from 1, and not "0".'],
    [['--runs', '3', '--from', 'x'], '--from takes a whole number from 0, and not "x".'],
    [['--crashes', ''], '--crashes takes a whole number from 1, and not "".'],
    [['--mutants', 'none such'], 'there is no mutant "none such"; there is "no fencing", "skip as done".'],
    [['--seed', '1', '--runs', '2'], "--seed, --runs can't be combined."],
    [['--seed', '1', '--from', '2'], "--from can't be used with --seed."],
    [['--mutants', '--hours', '2'], "--hours can't be used with --mutants."],
    [['--seed', '1', 'no fencing'], "no fencing can't be used with --seed."],
    [['--speed', '1'], "Unknown option '--speed'"],
    [['--seed'], "Option '--seed <value>' argument missing"],
  ])('%j is refused with what is wrong and what there is', (args, problem) => {
    const refused = () => parse(...args)
    expect(refused).toThrow(UsageError)
    expect(refused).toThrow(problem)
    expect(refused).toThrow('--runs K [--from N] [--hours H] [--workers W]')
  })
})

describe('a plan to replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-plan-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const written = (text: string): string => {
    const file = join(folder, 'plan.json')
    writeFileSync(file, text)
    return file
  }

  it('is what a run has written', () => {
    const plan = planOf(3, { workers: 3, hours: 0.5, pace: 'brisk' })
    expect(readPlan(written(JSON.stringify(plan)))).toEqual(plan)
  })

  it.each([
    ['nothing', '', 'it is no JSON'],
    ['half of it', '{"seed": 1, ', 'it is no JSON'],
    ['something else', '[]', 'it is no plan'],
    ['null', 'null', 'it is no plan'],
    ['no size', '{"seed": 1, "acts": []}', 'it is no plan'],
    [
      'an act that there is not',
      '{"seed":1,"size":{"workers":3,"hours":1,"pace":"brisk"},"acts":[{"act":"toString","atMs":1,"who":0,"much":0,"forMs":0}]}',
      'it is no plan',
    ],
  ])('is refused when it is %s', (_name, text, why) => {
    const file = written(text)
    expect(() => readPlan(file)).toThrow(UsageError)
    expect(() => readPlan(file)).toThrow(`${file} can't be replayed (${why}): give --replay`)
  })

  it('is refused when it is not there', () => {
    expect(() => readPlan(join(folder, 'none'))).toThrow("none can't be replayed (ENOENT): give --replay")
    expect(() => readPlan(folder)).toThrow("can't be replayed (EISDIR): give --replay")
  })
})
