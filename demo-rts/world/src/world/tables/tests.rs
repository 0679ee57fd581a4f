use super::*;

#[test]
fn the_table_is_in_the_order_of_the_kinds_and_makes_sense() {
    for (number, kind) in Kind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
        assert_eq!(Kind::from_number(number as u8), Some(kind));
    }
    assert_eq!(Kind::from_number(KINDS as u8), None);
    assert_eq!(TABLES.check(), Ok(()));
}

#[test]
fn every_number_of_the_table_is_part_of_the_rules() {
    let usual = table_bytes(&TABLES);
    let changes: [fn(&mut Stats); 6] = [
        |line| line.gold += 1,
        |line| line.armour += 1,
        |line| line.sight += 1,
        |line| line.farm_ticks += 1,
        |line| line.needs = &[Kind::Farm],
        |line| line.bonus = &[(Kind::Worker, 1)],
    ];
    for change in changes {
        let mut tables = TABLES.clone();
        change(&mut tables.kinds[Kind::Archer as usize]);
        assert_ne!(table_bytes(&tables), usual);
    }
    let changes: [fn(&mut Common); 5] = [
        |common| common.mine_gold += 1,
        |common| common.refund_percent += 1,
        |common| common.leash_tiles += 1,
        |common| common.return_ticks += 1,
        |common| common.workers += 1,
    ];
    for change in changes {
        let mut tables = TABLES.clone();
        change(&mut tables.common);
        assert_ne!(table_bytes(&tables), usual);
    }
}
