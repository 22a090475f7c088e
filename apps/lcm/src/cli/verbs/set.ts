import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { defineSetSetting } from '../fleet/set-setting.ts'
import { defineSetQuota } from '../quota/set-quota.ts'
import { defineSetCredentials } from '../worker/set-credentials.ts'

export function defineSet(set: Command, shell: Shell): void {
  defineSetCredentials(set, shell)
  defineSetQuota(set, shell)
  defineSetSetting(set, shell)
  set.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
A password is not an option, because other users of the computer could read it. LCM checks a new account immediately.

Examples:
  lcm set credentials metal-3                                prompts for the password
  lcm set credentials metal-3 --username lcm --password-file password.txt
  pass show cml | lcm set credentials metal-3
  lcm set quota Jane --live 5 --future 20 --horizon 90d      more than her role allows
  lcm set quota Jane --core-hours unlimited
  lcm set quota Jane --default                               the limits of her role again
  lcm set setting budget_usd_per_day 100
  lcm set setting budget_usd_per_day off
  lcm set setting idle_timeout_seconds --default             the environment or the default again`
