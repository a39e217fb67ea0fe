// Tests of Lab.
