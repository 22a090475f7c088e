import { writeFileSync } from 'node:fs'
import { REASON_PAGE, reasonPage } from './reason-page.ts'

writeFileSync(new URL(`../../${REASON_PAGE}`, import.meta.url), reasonPage())
process.stdout.write(`wrote ${REASON_PAGE}\n`)
