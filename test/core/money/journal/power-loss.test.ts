import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Journal } from "../../../../core/money/journal/journal.ts";
import { recordedLog } from "../../../support/log.ts";
import { Random } from "../../../support/random.ts";
import { SimulatedDisk } from "../../../world/disk.ts";
import { SimulatedProcess } from "../../../world/process.ts";
import { Scheduler } from "../../../world/scheduler.ts";

const FOLDER = "/data/journal";

describe("a journal on a disk that can lose its power or be full", () => {
  let disk: SimulatedDisk;
  let scheduler: Scheduler;

  beforeEach(() => {
    const random = new Random(1);
    disk = new SimulatedDisk(random);
    scheduler = new Scheduler(random);
  });

  function start(name: string): SimulatedProcess {
    const random = new Random(2);
    const process = new SimulatedProcess({ name, scheduler, random, onStopped() {} });
    process.attach(disk.of(process));
    return process;
  }

  function open(machine: SimulatedProcess): Promise<Journal> {
    const { log } = recordedLog();
    return Journal.open({ folder: FOLDER, bytesMax: 100_000, sync: false, log, machine });
  }

  it("opens after a kill and then a loss of power, with all that the kill had left", async () => {
    const killed = start("first");
    (await open(killed)).append('{"call":1}');
    killed.kill();
    const next = start("second");
    assert.equal((await open(next)).recovered.length, 1);
    next.kill();
    disk.losePower();
    assert.equal((await open(start("third"))).recovered.length, 1);
  });

  it("refuses calls while the disk is full, and takes them once there is room", async () => {
    const journal = await open(start("only"));
    disk.freeBytes = 10;
    assert.throws(() => journal.append('{"call":1}'), /cannot write/);
    assert.match(journal.refusal(1) ?? "", /cannot write/);
    disk.empty();
    assert.equal(journal.append('{"call":1}'), 1);
    assert.equal(journal.refusal(1), undefined);
  });
});
