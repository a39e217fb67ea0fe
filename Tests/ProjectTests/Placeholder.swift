// Tests of Project.
